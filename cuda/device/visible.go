package device

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Visible is what CUDA_VISIBLE_DEVICES leaves of a machine's devices.
type Visible struct {
	Devices []VisibleDevice // in CUDA's order: the place is CUDA's index
	// Ended says what ended the list before its end, or emptied it; nil where nothing did. A negative
	// index ends a list on purpose and is no fault.
	Ended error
	Notes []string // what this reading of the list may have wrong
}

// VisibleDevice is one device that CUDA shows: a whole one, or a slice of it.
type VisibleDevice struct {
	Device Device
	Slice  *MIG // nil: the whole device
}

// UUID is the slice's, or the device's.
func (v VisibleDevice) UUID() string {
	if v.Slice != nil {
		return v.Slice.UUID
	}
	return v.Device.UUID
}

// Visible reads a value of CUDA_VISIBLE_DEVICES; nil is unset, which shows every device. The list
// holds indices and GPU- and MIG-uuids or unique beginnings of them, blanks around them ignored. As in
// CUDA, what it cannot resolve hides itself and all that follows, and a device that stands twice empties
// the list (CUDA Programming Guide, environment variables, for the former; seen, for the latter).
func (m Machine) Visible(list *string) Visible {
	var v Visible
	if list == nil {
		for _, d := range m.Devices {
			v.Devices = append(v.Devices, VisibleDevice{Device: d})
		}
		return v
	}
	indices, uuids := false, false
	words := strings.Split(*list, ",")
	for i, word := range words {
		word = strings.TrimSpace(word)
		if word == "" {
			if strings.TrimSpace(strings.Join(words[i:], "")) != "" {
				v.Ended = errors.New("an empty entry: it hides what follows")
			}
			break
		}
		index, isIndex := leadingInteger(word)
		if isIndex && index < 0 {
			break
		}
		d, err := m.pick(word, index, isIndex)
		if err != nil {
			v.Ended = fmt.Errorf("%s: %w: it hides itself and what follows", word, err)
			break
		}
		if v.has(d.UUID(), d.Device.Index) {
			v.Devices, v.Ended = nil, fmt.Errorf("%s: this device stands twice, and CUDA shows none then", word)
			break
		}
		v.Devices = append(v.Devices, d)
		indices, uuids = indices || isIndex, uuids || !isIndex
	}
	v.Notes = v.doubts(m, indices, uuids)
	return v
}

// leadingInteger reads a sign and digits, as the driver does: whatever follows them is ignored. A
// number that no device can have is the largest.
func leadingInteger(word string) (n int, ok bool) {
	end := 0
	for end < len(word) && (word[end] >= '0' && word[end] <= '9' || end == 0 && (word[0] == '-' || word[0] == '+')) {
		end++
	}
	if digits := strings.TrimLeft(word[:end], "+-"); digits == "" {
		return 0, false
	}
	n, _ = strconv.Atoi(word[:end]) // out of range: the nearest there is
	return n, true
}

// pick resolves one entry.
func (m Machine) pick(word string, index int, isIndex bool) (VisibleDevice, error) {
	if isIndex {
		if index >= len(m.Devices) {
			return VisibleDevice{}, fmt.Errorf("no device has this index: %s", m.indices())
		}
		return VisibleDevice{Device: m.Devices[index]}, nil
	}
	var found []VisibleDevice
	for _, d := range m.Devices {
		if hasUUIDPrefix(d.UUID, word) {
			found = append(found, VisibleDevice{Device: d})
		}
		for i := range d.MIGDevices {
			if s := &d.MIGDevices[i]; hasUUIDPrefix(s.UUID, word) || s.path(d.UUID) == word {
				found = append(found, VisibleDevice{Device: d, Slice: s})
			}
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return VisibleDevice{}, fmt.Errorf("%d devices have that prefix", len(found))
	case !strings.HasPrefix(word, "GPU-") && !strings.HasPrefix(word, "MIG-"):
		return VisibleDevice{}, errors.New("neither an index nor a GPU- or MIG-uuid")
	}
	return VisibleDevice{}, errors.New("no device has this uuid")
}

func (m Machine) indices() string {
	switch n := len(m.Devices); n {
	case 0:
		return "the driver has no device"
	case 1:
		return "the driver has one device, 0"
	default:
		return fmt.Sprintf("the driver has %d devices, 0 to %d", n, n-1)
	}
}

func (v Visible) has(uuid string, index int) bool {
	for _, d := range v.Devices {
		if d.UUID() == uuid && d.Device.Index == index {
			return true
		}
	}
	return false
}

// doubts are where the driver is known, or said, to differ by version or by setting.
func (v Visible) doubts(m Machine, indices, uuids bool) []string {
	var out []string
	if indices && uuids {
		out = append(out, "the list mixes indices and uuids: some drivers end it where the kind changes")
	}
	slices := 0
	for _, d := range v.Devices {
		if d.Slice != nil {
			slices++
		}
	}
	if slices > 0 && len(v.Devices) > 1 {
		out = append(out, "the list has a MIG device among others: drivers may show a process that one alone")
	}
	if indices {
		for _, d := range m.Devices {
			if d.Name != m.Devices[0].Name {
				return append(out, "the devices differ: CUDA counts them from the fastest, NVML in bus order, so that an index may mean another one")
			}
		}
	}
	return out
}

// Find returns CUDA's index of the device that a name picks among the visible: that index, a GPU-uuid
// or a MIG-uuid, or a prefix of a uuid that only one has. "" picks the first.
func (v Visible) Find(name string) (int, error) {
	if len(v.Devices) == 0 {
		return 0, v.missing(name, "CUDA shows this process no device")
	}
	if name == "" {
		return 0, nil
	}
	if n, err := strconv.Atoi(name); err == nil {
		if n >= 0 && n < len(v.Devices) {
			return n, nil
		}
		return 0, v.missing(name, fmt.Sprintf("CUDA counts the visible devices from 0 to %d", len(v.Devices)-1))
	}
	found, at := 0, 0
	for i, d := range v.Devices {
		if hasUUIDPrefix(d.UUID(), name) || d.Slice != nil && d.Slice.path(d.Device.UUID) == name {
			found, at = found+1, i
		}
	}
	switch found {
	case 0:
		return 0, v.missing(name, "no visible device has this uuid")
	case 1:
		return at, nil
	}
	return 0, v.missing(name, fmt.Sprintf("%d devices have that prefix", found))
}

func (v Visible) missing(name, why string) error {
	if v.Ended != nil {
		return fmt.Errorf("find device %q: %s: %w", name, why, v.Ended)
	}
	return fmt.Errorf("find device %q: %s", name, why)
}

// path is the older name of a slice: MIG-GPU-uuid/GPU instance/compute instance; "" where unknown.
func (s *MIG) path(gpu string) string {
	if s.GPUInstance == nil || s.ComputeInstance == nil {
		return ""
	}
	return fmt.Sprintf("MIG-%s/%d/%d", gpu, *s.GPUInstance, *s.ComputeInstance)
}

// hasUUIDPrefix wants more of a uuid than the word before its first dash.
func hasUUIDPrefix(uuid, name string) bool {
	return len(name) > len("GPU-") && strings.HasPrefix(uuid, name)
}
