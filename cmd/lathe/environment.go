package main

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"lathe/bench"
	"lathe/bench/load"
)

// The environment variables that Lathe reads; there are no others but those of the serving client, and
// every one that mattered stands in the raw file. NO_COLOR is obeyed without being read: nothing is
// coloured.
const (
	envBackend = "LATHE_BACKEND"        // default of --backend
	envCache   = "LATHE_CACHE"          // default: lathe in the user's cache directory
	envVisible = "CUDA_VISIBLE_DEVICES" // as the driver reads it
	envSummary = "GITHUB_STEP_SUMMARY"  // file that gate appends its outcome to
)

// defaultBackend is the backend where --backend is not given.
func (app *application) defaultBackend() string {
	if b := app.env(envBackend); b != "" {
		return b
	}
	return "cpu"
}

// visibleDevices is the list of the devices that CUDA may show; nil is unset. Set and empty shows none.
func (app *application) visibleDevices() *string {
	if app.lookup == nil {
		return nil
	}
	if list, set := app.lookup(envVisible); set {
		return &list
	}
	return nil
}

// cacheDir is where what was fetched is kept between runs.
func (app *application) cacheDir() (string, error) {
	if dir := app.env(envCache); dir != "" {
		return dir, nil
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", usageError(envCache+" names one", "find the cache directory: %w", err)
	}
	return filepath.Join(user, "lathe"), nil
}

// The variables that the serving client reads, as far as the chosen harness does: keys, and proxies in
// either spelling, the lower case first.
const (
	envOpenAIKey = "OPENAI_API_KEY" // sent as Bearer by all three harnesses
	envRawKey    = "API_KEY"        // sent without a scheme by SGLang's client, where there is no other
)

// credentials is what the environment gives a serving client.
type credentials struct {
	openAI, raw string
	proxy       load.Proxy // of --proxy env
	used        []bench.EnvVar
}

// credentials reads what the harness reads. A key is noted as set, never as what it is.
func (app *application) credentials(harness, proxy string) credentials {
	c := credentials{openAI: app.env(envOpenAIKey)}
	if c.openAI != "" {
		c.used = append(c.used, bench.EnvVar{Name: envOpenAIKey, Value: "(set)"})
	}
	if harness == harnessSGLang && c.openAI == "" {
		if c.raw = app.env(envRawKey); c.raw != "" {
			c.used = append(c.used, bench.EnvVar{Name: envRawKey, Value: "(set)"})
		}
	}
	if proxy == proxyEnv {
		for _, v := range []struct {
			name string
			to   *string
		}{{"http_proxy", &c.proxy.HTTP}, {"https_proxy", &c.proxy.HTTPS}, {"no_proxy", &c.proxy.Exempt}} {
			for _, name := range []string{v.name, strings.ToUpper(v.name)} {
				if value := app.env(name); value != "" && *v.to == "" {
					*v.to = value
					c.used = append(c.used, bench.EnvVar{Name: name, Value: redactedURL(value)})
				}
			}
		}
	}
	return c
}

// redactedURL takes the password out of a URL.
func redactedURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.User == nil {
		return text
	}
	return u.Redacted()
}
