package device

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// directive is the first word after a PTX directive; "" where the image is no PTX or lacks it.
func directive(image []byte, name string) string {
	if bytes.HasPrefix(image, []byte("\x7fELF")) {
		return ""
	}
	const head = 64 << 10 // the directives stand first
	for line := range strings.Lines(string(image[:min(len(image), head)])) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == name {
			return strings.TrimRight(words[1], ",")
		}
	}
	return ""
}

// ptxVersion is the version of the PTX language that the image is in, such as "8.4".
func ptxVersion(image []byte) string { return directive(image, ".version") }

// cudaOfPTX is the first CUDA that knows a version of PTX, as cuDriverGetVersion writes it; 0 unknown
// (PTX ISA, release notes: the minor version followed the toolkit's up to 8.5).
func cudaOfPTX(version string) int {
	var major, minor int
	if n, err := fmt.Sscanf(version, "%d.%d", &major, &minor); n != 2 || err != nil || minor < 0 {
		return 0
	}
	switch {
	case major == 7 && minor <= 8, major == 8 && minor <= 5, major == 9:
		return 1000*(major+4) + 10*minor
	case major == 8 && minor <= 8: // 8.6 is of 12.7, 8.8 of 12.9
		return 12000 + 10*(minor+1)
	}
	return 0
}

// builtFor is the architecture that an image was built for; "" unknown. A cubin is an ELF file of
// machine 190, whose flags hold it in bits 0 to 7 up to ABI version 7 and in bits 8 to 15 from ABI
// version 8 on (LLVM, BinaryFormat/ELF.h, EF_CUDA_SM).
func builtFor(image []byte) string {
	const abiAt, machineAt, flagsAt, headerBytes, cuda = 8, 18, 48, 64, 190
	if !bytes.HasPrefix(image, []byte("\x7fELF\x02\x01")) {
		return directive(image, ".target")
	}
	if len(image) < headerBytes || binary.LittleEndian.Uint16(image[machineAt:]) != cuda {
		return ""
	}
	flags := binary.LittleEndian.Uint32(image[flagsAt:])
	switch image[abiAt] {
	case 7:
		return fmt.Sprintf("sm_%d", flags&0xff)
	case 8:
		return fmt.Sprintf("sm_%d", flags>>8&0xff)
	}
	return ""
}

// architecture is the device's, as a compiler's option has it.
func (f DriverFacts) architecture() string {
	if major, minor, ok := strings.Cut(f.ComputeCapability, "."); ok {
		return "sm_" + major + minor
	}
	return "this device"
}

// architectures says what the code was built for and what the device is.
func (f DriverFacts) architectures() string {
	built := slices.Clone(f.Built)
	if built == nil {
		if a := builtFor(f.Image); a != "" {
			built = []string{a}
		}
	}
	of := "unknown architectures"
	if len(built) > 0 {
		of = strings.Join(built, ", ")
	}
	if f.ComputeCapability == "" {
		return "no code for this GPU: built for " + of
	}
	return fmt.Sprintf("no code for this GPU: built for %s, the device is %s", of, f.architecture())
}
