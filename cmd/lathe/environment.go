package main

// The environment variables that Lathe reads; there are no others, and every one that mattered
// stands in the raw file. NO_COLOR is obeyed without being read: nothing is coloured.
const (
	envBackend = "LATHE_BACKEND"        // default of --backend
	envCache   = "LATHE_CACHE"          // default: lathe in the user's cache directory
	envVisible = "CUDA_VISIBLE_DEVICES" // as the driver reads it
)

// defaultBackend is the backend where --backend is not given.
func (app *application) defaultBackend() string {
	if b := app.env(envBackend); b != "" {
		return b
	}
	return "cpu"
}
