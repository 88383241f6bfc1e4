package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Side makes the calls around a run (ready checks, /v1/models, /tokenize,
// /metrics, /server_info, flushes, profiles): plain requests, of which nothing
// is timed.
type Side struct {
	base    string
	http    *http.Client
	headers []Header
}

// sideBody bounds what a side call reads.
const sideBody = 256 << 20

// NewSide makes side calls to the server of a client's options, over its proxy
// and with its certificates, each with the headers.
func NewSide(opt Options, headers []Header) (*Side, error) {
	if err := opt.Validate(); err != nil {
		return nil, fmt.Errorf("side calls: %w", err)
	}
	t, err := parseTarget(opt.URL)
	if err == nil {
		err = t.via(opt.Proxy)
	}
	if err != nil {
		return nil, fmt.Errorf("side calls: %w", err)
	}
	for _, h := range headers {
		if !validHeader(h) {
			return nil, fmt.Errorf("side calls: header %q cannot be sent", h.Name)
		}
	}
	transport := &http.Transport{TLSClientConfig: opt.TLS.Clone(), IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: maxHeadBytes}
	if t.proxy != nil {
		transport.Proxy = func(*http.Request) (*url.URL, error) { return t.proxy, nil }
	}
	return &Side{base: strings.TrimRight(opt.URL, "/"), headers: headers, http: &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
}

// Get is a GET of a path.
func (s *Side) Get(ctx context.Context, path string) (status int, body []byte, err error) {
	return s.do(ctx, http.MethodGet, path, nil, "")
}

// Post is a POST; a nil body sends none.
func (s *Side) Post(ctx context.Context, path string, json []byte) (status int, body []byte, err error) {
	kind := "application/json"
	if json == nil {
		kind = "application/octet-stream"
	}
	return s.do(ctx, http.MethodPost, path, json, kind)
}

func (s *Side) do(ctx context.Context, method, path string, send []byte, kind string) (int, []byte, error) {
	what := method + " " + path
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, bytes.NewReader(send))
	if err != nil {
		return 0, nil, fmt.Errorf("%s: %w", what, err)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	for _, h := range s.headers {
		req.Header.Set(h.Name, h.Value)
	}
	res, err := s.http.Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("%s: %w", what, inWords(unwrapURL(err)))
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, sideBody+1))
	if err == nil && len(body) > sideBody {
		err = fmt.Errorf("the answer is above %d bytes", sideBody)
	}
	if err != nil {
		return res.StatusCode, nil, fmt.Errorf("%s: %w", what, inWords(err))
	}
	return res.StatusCode, body, nil
}

// ErrNoAnswer is a side call whose time was over first.
var ErrNoAnswer = errors.New("no answer in time")

func inWords(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return ErrNoAnswer
	}
	return err
}

// unwrapURL takes the URL off an error that is named by its path already.
func unwrapURL(err error) error {
	if e := (*url.Error)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// Models asks for /v1/models: what SGLang's ready check tries, and ours.
func (s *Side) Models(ctx context.Context) (status int, err error) {
	status, _, err = s.Get(ctx, "/v1/models")
	return status, err
}

// Close ends idle connections.
func (s *Side) Close() { s.http.CloseIdleConnections() }
