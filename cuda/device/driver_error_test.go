package device

import (
	"encoding/binary"
	"testing"
)

// cubin is the header of an ELF file of CUDA code.
func cubin(abi byte, flags uint32) []byte {
	b := make([]byte, 64)
	copy(b, "\x7fELF\x02\x01\x01\x33")
	b[8] = abi
	binary.LittleEndian.PutUint16(b[18:], 190)
	binary.LittleEndian.PutUint32(b[48:], flags)
	return b
}

const ptx = "//\n// Generated\n//\n\n.version 8.8\n.target sm_90a, debug\n.address_size 64\n"

// TestP180_Translations: each code with its number, name, what is needed and what to do, and the same
// where nothing is known.
func TestP180_Translations(t *testing.T) {
	free := int64(4096)
	for _, c := range []struct {
		code        int
		facts       DriverFacts
		want, blank string // with the facts, and without any
	}{
		{222, DriverFacts{Driver: 12040, Image: []byte(ptx), ComputeCapability: "9.0"},
			"CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222): PTX too new: version 8.8: the driver runs CUDA up to 12.4, the PTX needs CUDA 12.9; install a driver for CUDA 12.9 or newer, build with an older toolkit, or build a cubin for sm_90",
			"CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222): PTX too new: which CUDA the driver runs is unknown, the PTX needs a newer one; install a driver for the CUDA that the code was built with, build with an older toolkit, or build a cubin for this device"},
		{209, DriverFacts{Built: []string{"sm_90a", "sm_100a"}, ComputeCapability: "8.0"},
			"CUDA_ERROR_NO_BINARY_FOR_GPU (209): no code for this GPU: built for sm_90a, sm_100a, the device is sm_80; build it for sm_80",
			"CUDA_ERROR_NO_BINARY_FOR_GPU (209): no code for this GPU: built for unknown architectures; build it for this device"},
		{209, DriverFacts{Image: cubin(7, 0x5a055a), ComputeCapability: "12.0"},
			"CUDA_ERROR_NO_BINARY_FOR_GPU (209): no code for this GPU: built for sm_90, the device is sm_120; build it for sm_120", ""},
		{35, DriverFacts{Driver: 12040, Needed: 13000},
			"cudaErrorInsufficientDriver (35): driver too old: the driver runs CUDA up to 12.4, the program needs CUDA 13.0; install a driver for CUDA 13.0 or newer",
			"cudaErrorInsufficientDriver (35): driver too old: which CUDA the driver runs is unknown, the program needs a newer one; install a driver for the CUDA that the code was built with"},
		{36, DriverFacts{Driver: 12040, Needed: 13000},
			"CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER (36): driver too old: the driver runs CUDA up to 12.4, the program needs CUDA 13.0; install a driver for CUDA 13.0 or newer", ""},
		{803, DriverFacts{Driver: 13000, Needed: 13000},
			"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803): driver too old: the kernel module does not fit libcuda.so.1: the driver runs CUDA up to 13.0, the program needs CUDA 13.0; reload the kernel module or restart the machine after a driver update; in a container, update the host's driver", ""},
		{804, DriverFacts{Needed: 13000},
			"CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE (804): driver too old: the forward-compatible libcuda.so.1 does not serve this device; take the compat directory out of LD_LIBRARY_PATH, or install a driver for CUDA 13.0 or newer", ""},
		{100, DriverFacts{},
			"CUDA_ERROR_NO_DEVICE (100): no device: the driver shows this process none; nvidia-smi -L lists the devices; CUDA_VISIBLE_DEVICES hides what it does not name", ""},
		{2, DriverFacts{RequestedBytes: 1 << 30, FreeBytes: &free},
			"CUDA_ERROR_OUT_OF_MEMORY (2): out of memory: 1073741824 bytes requested, 4096 free; ask for less, or end what else holds the device (nvidia-smi lists it)",
			"CUDA_ERROR_OUT_OF_MEMORY (2): out of memory; ask for less, or end what else holds the device (nvidia-smi lists it)"},
		{2, DriverFacts{RequestedBytes: 8},
			"CUDA_ERROR_OUT_OF_MEMORY (2): out of memory: 8 bytes requested, how many are free is unknown; ask for less, or end what else holds the device (nvidia-smi lists it)", ""},
		{34, DriverFacts{}, "CUDA_ERROR_STUB_LIBRARY (34): libcuda.so.1 is the toolkit's stub, to link against only; take its directory out of LD_LIBRARY_PATH", ""},
		{201, DriverFacts{}, "CUDA_ERROR_INVALID_CONTEXT (201): the calling thread has no context of this device", ""},
		{4711, DriverFacts{}, "CUDA error 4711", "CUDA error 4711"},
	} {
		if got := Translate(c.code, c.facts).Error(); got != c.want {
			t.Errorf("%d:\n%s, want\n%s", c.code, got, c.want)
		}
		if got := Translate(c.code, DriverFacts{}).Error(); c.blank != "" && got != c.blank {
			t.Errorf("%d, nothing known:\n%s, want\n%s", c.code, got, c.blank)
		}
	}
}

// TestCUDAOfPTX: versions of the release notes, and words that are none.
func TestCUDAOfPTX(t *testing.T) {
	for version, want := range map[string]int{"7.0": 11000, "7.8": 11080, "8.0": 12000, "8.5": 12050, "8.6": 12070, "8.7": 12080, "8.8": 12090,
		"9.0": 13000, "9.1": 13010, "7.9": 0, "8.9": 0, "6.5": 0, "": 0, "9": 0, "9.-1": 0, "x.y": 0} {
		if got := cudaOfPTX(version); got != want {
			t.Errorf("%q: %d, want %d", version, got, want)
		}
	}
}

func TestBuiltFor(t *testing.T) {
	foreign := cubin(7, 90)
	foreign[18] = 62
	for _, c := range []struct {
		image []byte
		want  string
	}{
		{[]byte(ptx), "sm_90a"}, {cubin(7, 0x5a055a), "sm_90"}, {cubin(8, 0x06006402), "sm_100"}, {cubin(9, 0x06006402), ""},
		{foreign, ""}, {cubin(7, 90)[:60], ""}, {nil, ""}, {[]byte("\x7fELF"), ""}, {[]byte(".target"), ""},
	} {
		if got := builtFor(c.image); got != c.want {
			t.Errorf("%.20q: %q, want %q", c.image, got, c.want)
		}
	}
}

// FuzzImage: an image is read as text or as an ELF header, and never past its end.
func FuzzImage(f *testing.F) {
	for _, image := range [][]byte{[]byte(ptx), cubin(7, 90), cubin(8, 90<<8), []byte("\x7fELF\x02\x01"), nil} {
		f.Add(image)
	}
	f.Fuzz(func(t *testing.T, image []byte) {
		if Translate(codeNoBinary, DriverFacts{Image: image}).What == "" || Translate(codeUnsupportedPTX, DriverFacts{Image: image}).What == "" {
			t.Error("no text")
		}
	})
}
