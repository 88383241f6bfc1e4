package tokenizer

import (
	"fmt"
	"strings"
	"time"

	"github.com/nikolalohinski/gonja/v2/exec"
)

// strftimeNow is the function strftime_now(format), for a fixed time; zero: the clock.
func strftimeNow(now time.Time) func(*exec.VarArgs) (string, error) {
	return func(args *exec.VarArgs) (string, error) {
		if now.IsZero() {
			return strftime(time.Now(), args.First().String())
		}
		return strftime(now, args.First().String())
	}
}

// strftime formats t by the directives of C that have one meaning in every locale; %-d and the like drop zeros.
func strftime(t time.Time, format string) (string, error) {
	layouts := map[byte]string{
		'a': "Mon", 'A': "Monday", 'b': "Jan", 'B': "January", 'd': "02", 'e': "_2", 'H': "15", 'I': "03", 'm': "01",
		'M': "04", 'p': "PM", 'S': "05", 'y': "06", 'Y': "2006", 'j': "002", 'Z': "MST", 'z': "-0700", 'h': "Jan",
		'F': "2006-01-02", 'T': "15:04:05", 'R': "15:04", 'D': "01/02/06", 'c': "Mon Jan _2 15:04:05 2006", 'x': "01/02/06", 'X': "15:04:05",
	}
	var out strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			out.WriteByte(format[i])
			continue
		}
		i++
		plain := format[i] == '-' && i+1 < len(format)
		if plain {
			i++
		}
		switch c := format[i]; {
		case c == '%':
			out.WriteByte('%')
		case c == 'n':
			out.WriteByte('\n')
		case c == 'f':
			fmt.Fprintf(&out, "%06d", t.Nanosecond()/1000)
		case layouts[c] == "":
			return "", fmt.Errorf("strftime_now: the directive %%%c is not supported", c)
		case plain:
			text := strings.TrimLeft(t.Format(layouts[c]), "0 ")
			if text == "" {
				text = "0"
			}
			out.WriteString(text)
		default:
			out.WriteString(t.Format(layouts[c]))
		}
	}
	return out.String(), nil
}
