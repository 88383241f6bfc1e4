package llama

// rope reads both layouts and refuses a contradiction between them.
func (o *object) rope() (theta float64, s RopeScaling) {
	const absent = 10000
	theta = absent
	if o.has("rope_theta") {
		theta = o.number("rope_theta", 1, true)
	}
	old, haveOld := o.ropeObject("rope_scaling")
	if haveOld {
		s = old.scaling()
		o.adopt(old)
	}
	if now, ok := o.ropeObject("rope_parameters"); ok {
		if now.has("rope_theta") {
			inner := now.number("rope_theta", 1, true)
			if o.has("rope_theta") && inner != theta && now.err == nil {
				o.fail(ConfigValue, "rope_theta is %s, and rope_parameters.rope_theta is %s", o.text("rope_theta"), now.text("rope_theta"))
			}
			theta = inner
		}
		both := now.scaling()
		o.adopt(now)
		if haveOld && both != s {
			o.fail(ConfigValue, "rope_scaling and rope_parameters disagree")
		}
		s = both
	}
	return theta, s
}

// ropeObject opens one of the two objects; false when it is absent or null.
func (o *object) ropeObject(key string) (*object, bool) {
	if !o.has(key) || o.err != nil {
		return nil, false
	}
	if o.raw[key][0] != '{' {
		o.fail(ConfigValue, "%s is %s, not an object", key, o.text(key))
		return nil, false
	}
	in, err := parseObject(o.raw[key], key+".")
	if err != nil {
		o.err = err
		return nil, false
	}
	return in, true
}

func (o *object) adopt(in *object) {
	if o.err == nil {
		o.err = in.err
	}
}

// scaling reads the type and the fields it needs.
func (o *object) scaling() RopeScaling {
	kind, legacy := o.str("rope_type"), o.str("type")
	if kind == "" {
		kind = legacy
	} else if legacy != "" && legacy != kind {
		o.fail(ConfigValue, "%srope_type is %.80q, and %stype is %.80q", o.where, kind, o.where, legacy)
	}
	if o.has("partial_rotary_factor") && o.number("partial_rotary_factor", 0, true) != 1 {
		o.fail(Unsupported, "%spartial_rotary_factor %s is not supported, only 1", o.where, o.text("partial_rotary_factor"))
	}
	switch kind {
	case "default":
		return RopeScaling{}
	case RopeLinear:
		return RopeScaling{Type: RopeLinear, Factor: o.number("factor", 1, true)}
	case RopeLlama3:
		s := RopeScaling{
			Type:                RopeLlama3,
			Factor:              o.number("factor", 1, true),
			LowFreqFactor:       o.number("low_freq_factor", 0, true),
			HighFreqFactor:      o.number("high_freq_factor", 0, true),
			OriginalMaxPosition: o.size("original_max_position_embeddings", MaxPositions),
		}
		if s.HighFreqFactor <= s.LowFreqFactor {
			o.fail(ConfigValue, "%shigh_freq_factor %s must be above low_freq_factor %s", o.where, o.text("high_freq_factor"), o.text("low_freq_factor"))
		}
		return s
	case "":
		if o.where == "rope_parameters." && len(o.raw) <= 1 && (len(o.raw) == 0 || o.has("rope_theta")) {
			return RopeScaling{} // theta alone
		}
		o.fail(ConfigValue, "%srope_type is missing", o.where)
	default:
		o.fail(Unsupported, "%srope_type %.80q is not supported; supported: default, linear, llama3", o.where, kind)
	}
	return RopeScaling{}
}
