package safetensors

import "os"

// openRegular opens a regular file (a pipe or a device is refused before it is
// opened) and returns its size. An empty file comes back closed.
func openRegular(path string) (*os.File, int64, error) {
	missing := func(msg string, err error) (*os.File, int64, error) {
		return nil, 0, &Error{Class: MissingFile, Path: path, Msg: msg, Err: err}
	}
	info, err := os.Stat(path)
	if err != nil {
		return missing("cannot open: "+reason(err), err)
	}
	if !info.Mode().IsRegular() {
		return missing("not a regular file", nil)
	}
	f, err := os.Open(path)
	if err != nil {
		return missing("cannot open: "+reason(err), err)
	}
	if info, err = f.Stat(); err != nil {
		f.Close()
		return missing("cannot open: "+reason(err), err)
	}
	if info.Size() == 0 {
		f.Close()
	}
	return f, info.Size(), nil
}
