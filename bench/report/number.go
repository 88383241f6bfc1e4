package report

import (
	"fmt"
	"strconv"
	"strings"
)

// none stands for an undefined figure in a table.
const none = "–"

// sig writes x with so many significant digits and no exponent.
func sig(x float64, digits int) string {
	e := strconv.FormatFloat(x, 'e', digits-1, 64)
	exp, err := strconv.Atoi(e[strings.IndexByte(e, 'e')+1:])
	if err != nil || x == 0 {
		return "0"
	}
	return strconv.FormatFloat(x, 'f', max(0, digits-1-exp), 64)
}

func sigOr(x *float64, scale float64, digits int) string {
	if x == nil {
		return none
	}
	return sig(*x/scale, digits)
}

// bytesText writes a size in binary units.
func bytesText(n uint64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	x, i := float64(n), 0
	for x >= 1024 && i < len(units)-1 {
		x, i = x/1024, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return sig(x, 3) + " " + units[i]
}

// count writes a large number in decimal units.
func count(n int64) string {
	units := []string{"", " k", " M", " G", " T"}
	x, i := float64(n), 0
	for x >= 1000 && i < len(units)-1 {
		x, i = x/1000, i+1
	}
	if i == 0 {
		return strconv.FormatInt(n, 10)
	}
	return sig(x, 4) + units[i]
}

// shortest writes the shortest decimal that reads back as x.
func shortest(x *float64) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x, 'f', -1, 64)
}

// python writes x as Python's repr does: the shortest digits, a point always,
// an exponent below 1e-4 and from 1e16 on.
func python(x float64) string {
	if a := max(x, -x); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(x, 'e', -1, 64)
	}
	s := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
