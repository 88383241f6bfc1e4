package llama

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// llama3Text is a config of the 3.1 type with the numbers of case P190.
func llama3Text(rope string) string {
	return `{"architectures":["LlamaForCausalLM"],"model_type":"llama","vocab_size":32,"hidden_size":128,"num_hidden_layers":1,
	"num_attention_heads":2,"num_key_value_heads":1,"intermediate_size":32,"rms_norm_eps":1e-5,"rope_theta":500000.0,"rope_scaling":` + rope + `}`
}

func TestP190_RopeTypeLlama3(t *testing.T) {
	const fields = `"factor":32.0,"low_freq_factor":1.0,"high_freq_factor":4.0,"original_max_position_embeddings":8192}`
	want := map[int]float64{14: 0.00321144599, 15: 0.00129054793, 16: 0.000429556797, 17: 9.7082878e-05, 18: 1.94616382e-05}
	for _, rope := range []string{`{"rope_type":"llama3",` + fields, `{"type":"llama3",` + fields, `{"type":"llama3","rope_type":"llama3",` + fields} {
		c, err := ParseConfig([]byte(llama3Text(rope)), "config.json")
		if err != nil {
			t.Fatal(err)
		}
		if c.HeadDim != 64 {
			t.Fatalf("head_dim %d", c.HeadDim)
		}
		got := c.InvFreq()
		for i, w := range want {
			// half a unit of float32's last place, and half a unit of the ninth digit
			if math.Abs(float64(got[i])-w) > w/(1<<24)+w*5e-9 {
				t.Errorf("%s: inv_freq[%d] = %.9g, want %.9g rounded to float32", rope, i, got[i], w)
			}
		}
		plain := c
		plain.RopeScaling = RopeScaling{}
		for i, f := range plain.InvFreq() {
			if i <= 14 && got[i] != f {
				t.Errorf("inv_freq[%d] = %g, must be unchanged from %g", i, got[i], f)
			}
			if i >= 18 && got[i] != f/32 { // a power of two: exact
				t.Errorf("inv_freq[%d] = %g, must be %g / 32", i, got[i], f)
			}
		}
	}
}

func TestP190_UnknownRopeTypes(t *testing.T) {
	for _, kind := range []string{"xyz", "dynamic", "yarn", "longrope", "mrope", "su", "LLAMA3", "spiral"} {
		for _, key := range []string{"type", "rope_type"} {
			_, err := ParseConfig([]byte(llama3Text(`{"`+key+`":"`+kind+`","factor":4.0}`)), "config.json")
			var e *Error
			if !errors.As(err, &e) || e.Class != Unsupported || !strings.Contains(err.Error(), `"`+kind+`"`) || !strings.Contains(err.Error(), "config.json") {
				t.Errorf("%s %s: %v", key, kind, err)
			}
		}
	}
}

func TestRopeContradictions(t *testing.T) {
	const good = `"factor":8.0,"low_freq_factor":1.0,"high_freq_factor":4.0,"original_max_position_embeddings":64`
	for rope, mention := range map[string]string{
		`{"rope_type":"llama3","type":"linear",` + good + `}`: "rope_type",
		`{"factor":8.0}`:                        "rope_type is missing",
		`{}`:                                    "rope_type is missing",
		`"llama3"`:                              "not an object",
		`[8]`:                                   "not an object",
		`{"rope_type":7}`:                       "rope_type",
		`{"rope_type":"linear"}`:                "factor is missing",
		`{"rope_type":"linear","factor":0.5}`:   "factor",
		`{"rope_type":"linear","factor":"4"}`:   "factor",
		`{"rope_type":"linear","factor":1e300}`: "factor",
		`{"rope_type":"linear","factor":null}`:  "factor is missing",
		`{"rope_type":"linear","factor":4,"factor":8}`:                                                                            "twice",
		`{"rope_type":"default","partial_rotary_factor":0.5}`:                                                                     "partial_rotary_factor",
		`{"rope_type":"llama3","low_freq_factor":1.0,"high_freq_factor":4.0,"original_max_position_embeddings":64}`:               "factor is missing",
		`{"rope_type":"llama3","factor":8.0,"high_freq_factor":4.0,"original_max_position_embeddings":64}`:                        "low_freq_factor",
		`{"rope_type":"llama3","factor":8.0,"low_freq_factor":1.0,"original_max_position_embeddings":64}`:                         "high_freq_factor",
		`{"rope_type":"llama3","factor":8.0,"low_freq_factor":4.0,"high_freq_factor":1.0,"original_max_position_embeddings":64}`:  "freq_factor",
		`{"rope_type":"llama3","factor":8.0,"low_freq_factor":0,"high_freq_factor":4.0,"original_max_position_embeddings":64}`:    "low_freq_factor",
		`{"rope_type":"llama3","factor":8.0,"low_freq_factor":1.0,"high_freq_factor":4.0,"original_max_position_embeddings":0}`:   "original_max_position_embeddings",
		`{"rope_type":"llama3","factor":8.0,"low_freq_factor":1.0,"high_freq_factor":4.0,"original_max_position_embeddings":6.5}`: "original_max_position_embeddings",
	} {
		_, err := ParseConfig([]byte(llama3Text(rope)), "config.json")
		if err == nil || !strings.Contains(err.Error(), mention) {
			t.Errorf("%s: %v, want %q", rope, err, mention)
		}
	}
}

func TestRopeLayoutsAgree(t *testing.T) {
	head := `{"model_type":"llama","vocab_size":32,"hidden_size":128,"num_hidden_layers":1,"num_attention_heads":2,"intermediate_size":32`
	parse := func(tail string) (Config, error) { return ParseConfig([]byte(head+tail+"}"), "config.json") }
	const fields = `"rope_type":"llama3","factor":8.0,"low_freq_factor":1.0,"high_freq_factor":4.0,"original_max_position_embeddings":64`
	old, err := parse(`,"rope_theta":5e5,"rope_scaling":{` + fields + `}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, tail := range []string{
		`,"rope_parameters":{"rope_theta":500000,` + fields + `}`,
		`,"rope_theta":500000.0,"rope_parameters":{` + fields + `}`,
		`,"rope_theta":500000.0,"rope_scaling":{` + fields + `},"rope_parameters":{"rope_theta":500000.0,` + fields + `}`,
	} {
		now, err := parse(tail)
		if err != nil || now.RopeTheta != old.RopeTheta || now.RopeScaling != old.RopeScaling {
			t.Errorf("%s: %+v, %v", tail, now, err)
		}
	}
	for tail, mention := range map[string]string{
		`,"rope_theta":10000,"rope_parameters":{"rope_theta":500000,` + fields + `}`:                               "rope_theta",
		`,"rope_scaling":{` + fields + `},"rope_parameters":{"rope_theta":500000,"rope_type":"default"}`:           "disagree",
		`,"rope_parameters":{"full_attention":{"rope_type":"default"},"sliding_attention":{"rope_type":"linear"}}`: "rope_type",
	} {
		if _, err := parse(tail); err == nil || !strings.Contains(err.Error(), mention) {
			t.Errorf("%s: %v, want %q", tail, err, mention)
		}
	}
	for _, tail := range []string{``, `,"rope_scaling":null`, `,"rope_parameters":null`, `,"rope_parameters":{"rope_theta":10000.0}`,
		`,"rope_scaling":{"rope_type":"default"}`, `,"rope_parameters":{}`} {
		c, err := parse(tail)
		if err != nil || c.RopeTheta != 10000 || c.RopeScaling != (RopeScaling{}) {
			t.Errorf("%q: %+v, %v", tail, c, err)
		}
	}
}

// float32Path is the library's own arithmetic, every operation in float32.
func float32Path(c Config, i int) float32 {
	f := 1 / float32(math.Pow(c.RopeTheta, float64(float32(2*i)/float32(c.HeadDim))))
	s := c.RopeScaling
	if s.Type != RopeLlama3 {
		return f
	}
	original := float64(s.OriginalMaxPosition)
	wavelength := float32(1/f) * float32(2*math.Pi)
	switch {
	case wavelength < float32(original/s.HighFreqFactor):
		return f
	case wavelength > float32(original/s.LowFreqFactor):
		return f / float32(s.Factor)
	}
	smooth := (float32(1/wavelength)*float32(original) - float32(s.LowFreqFactor)) / float32(s.HighFreqFactor-s.LowFreqFactor)
	return float32((1-smooth)*f)/float32(s.Factor) + float32(smooth*f)
}

func TestInvFreqNearTheFloat32Path(t *testing.T) {
	for _, name := range Presets() {
		c, err := Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range c.InvFreq() {
			slow := float32Path(c, i)
			if d := int64(math.Float32bits(f)) - int64(math.Float32bits(slow)); d < -3 || d > 3 {
				t.Errorf("%s: inv_freq[%d] = %.9g, the float32 path gives %.9g, %d units of the last place apart", name, i, f, slow, d)
			}
		}
	}
}

func TestInvFreqPlainAndLinear(t *testing.T) {
	c := Config{HeadDim: 16, RopeTheta: 10000}
	got := c.InvFreq()
	if len(got) != 8 || got[0] != 1 {
		t.Fatalf("%g", got)
	}
	for i, f := range got {
		if want := math.Pow(10000, -float64(2*i)/16); math.Abs(float64(f)-want) > 1.2e-7*want {
			t.Errorf("inv_freq[%d] = %.9g, want %.9g", i, f, want)
		}
	}
	c.RopeScaling = RopeScaling{Type: RopeLinear, Factor: 4}
	for i, f := range c.InvFreq() {
		if f != got[i]/4 {
			t.Errorf("linear inv_freq[%d] = %.9g, want %.9g", i, f, got[i]/4)
		}
	}
}
