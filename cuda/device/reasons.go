package device

import (
	"fmt"
	"math/bits"
	"strings"
)

// Reasons are the reasons why a device does not run at its highest clock, the bit mask of
// nvmlDeviceGetCurrentClocksEventReasons (nvml.h, nvmlClocksEventReasons).
type Reasons uint64

// The reasons by NVML's names.
const (
	GPUIdle           Reasons = 1 << iota // nothing runs
	ApplicationClocks                     // the clocks were set, which is no throttling
	SWPowerCap                            // the power cap binds
	HWSlowdown                            // thermal or power brake, in hardware
	SyncBoost                             // held to the clock of a group
	SWThermal                             // the driver lowers the clock for the temperature
	HWThermal                             // the hardware does
	HWPowerBrake                          // the power brake of the board
	DisplayClock                          // limited by a display
	BoardLimit                            // limit of the board's design
	Reliability                           // held down for reliability
)

// harmless are the reasons that take nothing away from a measurement under load.
const harmless = GPUIdle | ApplicationClocks

// Throttled reports whether the clock is held below what the device could run.
func (r Reasons) Throttled() bool { return r&^harmless != 0 }

// String is "none" or the names joined by "|"; a bit without a name is printed as a number.
func (r Reasons) String() string {
	if r == 0 {
		return "none"
	}
	names := []string{"GpuIdle", "ApplicationsClocksSetting", "SwPowerCap", "HwSlowdown", "SyncBoost", "SwThermalSlowdown",
		"HwThermalSlowdown", "HwPowerBrakeSlowdown", "DisplayClockSetting", "BoardLimit", "Reliability"}
	var words []string
	for rest := uint64(r); rest != 0; rest &= rest - 1 {
		bit := bits.TrailingZeros64(rest)
		if bit < len(names) {
			words = append(words, names[bit])
		} else {
			words = append(words, fmt.Sprintf("0x%x", uint64(1)<<bit))
		}
	}
	return strings.Join(words, "|")
}
