package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// plainly words an error of encoding/json for who wrote the file: the key and what stands there, not
// the Go type behind it.
func plainly(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	want := "an object"
	switch wrong.Type.Kind() {
	case reflect.Int, reflect.Int32, reflect.Int64:
		want = "a whole number of 64 bits"
	case reflect.Uint64:
		want = "a whole number of 64 bits, not negative,"
	case reflect.Float64:
		want = "a number"
	case reflect.String:
		want = "a string"
	case reflect.Bool:
		want = "true or false"
	case reflect.Slice, reflect.Array:
		want = "a list"
	}
	if wrong.Field == "" {
		return fmt.Errorf("%s where %s belongs", wrong.Value, want)
	}
	return fmt.Errorf("%s: %s where %s belongs", wrong.Field, wrong.Value, want)
}
