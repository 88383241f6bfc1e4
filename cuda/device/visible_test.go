package device

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	gpu0, gpu1 = "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", "GPU-8932aa00-0000-4106-c12f-20bd9faed9f7"
	mig0, mig1 = "MIG-c9f2bf7a-1234-5678-9abc-def012345678", "MIG-c9f2bf7b-1234-5678-9abc-def012345678"
)

// pair has two devices, the second cut into two slices.
func pair() Machine {
	one, two, zero := 1, 2, 0
	return Machine{Devices: []Device{
		{Index: 0, UUID: gpu0, Name: "H200"},
		{Index: 1, UUID: gpu1, Name: "H200", MIGDevices: []MIG{{UUID: mig0, GPUInstance: &one, ComputeInstance: &zero}, {UUID: mig1, GPUInstance: &two, ComputeInstance: &zero}}},
	}}
}

const unset = "\x00"

// visibleCase is a list, and the uuids in CUDA's order that it shows.
type visibleCase struct{ list, want, ended string }

func visibleCases() []visibleCase {
	return []visibleCase{
		{list: unset, want: gpu0 + " " + gpu1},
		{list: gpu0, want: gpu0},
		{list: gpu1, want: gpu1},
		{list: "0," + gpu1, want: gpu0 + " " + gpu1},
		{list: gpu1 + ",0", want: gpu1 + " " + gpu0},
		{list: "1,0", want: gpu1 + " " + gpu0},
		{list: " 1 ", want: gpu1},
		{list: " 1 ,\t" + gpu0 + " ", want: gpu1 + " " + gpu0},
		{list: "+1", want: gpu1},
		{list: "1gpu,0x", want: gpu1 + " " + gpu0},
		{list: "GPU-8932f", want: gpu0},
		{list: ""}, {list: "  "}, {list: "-1"}, {list: "-1,0"}, {list: ","},
		{list: "0,", want: gpu0},
		{list: "0,-1,1", want: gpu0},
		{list: "0,,1", want: gpu0, ended: "an empty entry: it hides what follows"},
		{list: ",1", ended: "an empty entry: it hides what follows"},
		{list: "7", ended: "7: no device has this index: the driver has 2 devices, 0 to 1: it hides itself and what follows"},
		{list: "99999999999999999999", ended: "99999999999999999999: no device has this index: the driver has 2 devices, 0 to 1: it hides itself and what follows"},
		{list: "1,7,0", want: gpu1, ended: "7: no device has this index: the driver has 2 devices, 0 to 1: it hides itself and what follows"},
		{list: "GPU-8932", ended: "GPU-8932: 2 devices have that prefix: it hides itself and what follows"},
		{list: "GPU-", ended: "GPU-: no device has this uuid: it hides itself and what follows"},
		{list: "0,GPU-77", want: gpu0, ended: "GPU-77: no device has this uuid: it hides itself and what follows"},
		{list: "NoDevFiles", ended: "NoDevFiles: neither an index nor a GPU- or MIG-uuid: it hides itself and what follows"},
		{list: "0,0", ended: "0: this device stands twice, and CUDA shows none then"},
		{list: "1,0,1", ended: "1: this device stands twice, and CUDA shows none then"},
		{list: gpu0 + "," + gpu0, ended: gpu0 + ": this device stands twice, and CUDA shows none then"},
		{list: "0,-1,0", want: gpu0},
		{list: mig0, want: mig0},
		{list: "MIG-c9f2bf7b", want: mig1},
		{list: "MIG-c9f2", ended: "MIG-c9f2: 2 devices have that prefix: it hides itself and what follows"},
		{list: "MIG-" + gpu1 + "/2/0", want: mig1},
		{list: "MIG-" + gpu1 + "/5/0", ended: "MIG-" + gpu1 + "/5/0: no device has this uuid: it hides itself and what follows"},
		{list: mig0 + "," + mig1, want: mig0 + " " + mig1},
		{list: mig0 + "," + mig0, ended: mig0 + ": this device stands twice, and CUDA shows none then"},
	}
}

// TestP176_VisibleDevices: every form of the list, and what CUDA makes of it.
func TestP176_VisibleDevices(t *testing.T) {
	for _, c := range visibleCases() {
		list := &c.list
		if c.list == unset {
			list = nil
		}
		v := pair().Visible(list)
		var got []string
		for i, d := range v.Devices {
			got = append(got, d.UUID())
			for _, name := range []string{fmt.Sprint(i), d.UUID()} {
				if at, err := v.Find(name); err != nil || at != i {
					t.Errorf("%q: find %s: %d, %v", c.list, name, at, err)
				}
			}
		}
		ended := ""
		if v.Ended != nil {
			ended = v.Ended.Error()
		}
		if strings.Join(got, " ") != c.want || ended != c.ended {
			t.Errorf("%q shows %q, ended %q", c.list, got, ended)
		}
	}
	if v := (Machine{}).Visible(ptrTo("0")); len(v.Devices) != 0 || v.Ended == nil || !strings.Contains(v.Ended.Error(), "the driver has no device") {
		t.Errorf("without devices: %+v", v)
	}
}

func ptrTo[T any](v T) *T { return &v }

// TestVisibleNotes: where drivers are said to differ, the reading says so.
func TestVisibleNotes(t *testing.T) {
	mixed := pair()
	mixed.Devices[1].Name = "T4"
	for _, c := range []struct {
		machine Machine
		list    string
		want    []string
	}{
		{pair(), "0,1", nil},
		{pair(), "0," + gpu1, []string{"the list mixes indices and uuids: some drivers end it where the kind changes"}},
		{pair(), mig0, nil},
		{pair(), mig0 + "," + mig1, []string{"the list has a MIG device among others: drivers may show a process that one alone"}},
		{mixed, gpu0, nil},
		{mixed, "0", []string{"the devices differ: CUDA counts them from the fastest, NVML in bus order, so that an index may mean another one"}},
	} {
		if diff := cmp.Diff(c.want, c.machine.Visible(&c.list).Notes); diff != "" {
			t.Errorf("%s: %s", c.list, diff)
		}
	}
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		list, name string
		want       int
		err        string
	}{
		{list: "1,0", name: ""},
		{list: "1,0", name: "1", want: 1},
		{list: "1,0", name: "GPU-8932f", want: 1},
		{list: mig1, name: "MIG-" + gpu1 + "/2/0"},
		{list: "1", name: "1", err: `find device "1": CUDA counts the visible devices from 0 to 0`},
		{list: "1", name: "-1", err: `find device "-1": CUDA counts the visible devices from 0 to 0`},
		{list: "1", name: gpu0, err: `find device "` + gpu0 + `": no visible device has this uuid`},
		{list: "0,1", name: "GPU-8932", err: `find device "GPU-8932": 2 devices have that prefix`},
		{list: "0,1", name: "GPU-", err: `find device "GPU-": no visible device has this uuid`},
		{list: "", name: "", err: `find device "": CUDA shows this process no device`},
		{list: "7", name: "0", err: `find device "0": CUDA shows this process no device: 7: no device has this index: the driver has 2 devices, 0 to 1: it hides itself and what follows`},
	} {
		at, err := pair().Visible(&c.list).Find(c.name)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if at != c.want || text != c.err {
			t.Errorf("%q among %q: %d, %q", c.name, c.list, at, text)
		}
	}
}

// FuzzVisible: whatever the list, nothing is shown twice and what is shown can be found.
func FuzzVisible(f *testing.F) {
	for _, s := range []string{"", "0,1", " 1 ,-1", gpu0 + ",1", mig0, "0,0", "+,-,,", "9999999999999999999999", "MIG-" + gpu1 + "/1/0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		v := pair().Visible(&list)
		seen := map[string]bool{}
		for i, d := range v.Devices {
			if at, err := v.Find(d.UUID()); seen[d.UUID()] || err != nil || at != i {
				t.Errorf("%q: device %d of %v: %d, %v", list, i, v.Devices, at, err)
			}
			seen[d.UUID()] = true
		}
	})
}
