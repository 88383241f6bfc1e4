package load

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestSide(t *testing.T) {
	srv := serve(t, func(c net.Conn, r *http.Request, n int64) bool {
		b, _ := io.ReadAll(r.Body)
		answer := strings.Join([]string{r.Method, r.RequestURI, r.Header.Get("Authorization"), r.Header.Get("Content-Type"), string(b)}, "|")
		status := "200 OK"
		if r.RequestURI == "/missing" {
			status = "404 Not Found"
		}
		_, err := io.WriteString(c, "HTTP/1.1 "+status+"\r\n"+"Content-Length: "+strconv.Itoa(len(answer))+"\r\n\r\n"+answer)
		return err == nil
	})
	s, err := NewSide(Options{URL: srv.url() + "/"}, []Header{{"Authorization", "Bearer k"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	for _, c := range []struct {
		call func() (int, []byte, error)
		code int
		want string
	}{
		{func() (int, []byte, error) { return s.Get(ctx, "/v1/models") }, 200, "GET|/v1/models|Bearer k||"},
		{func() (int, []byte, error) { return s.Get(ctx, "/missing") }, 404, "GET|/missing|Bearer k||"},
		{func() (int, []byte, error) { return s.Post(ctx, "/flush_cache?timeout=60.0", nil) }, 200, "POST|/flush_cache?timeout=60.0|Bearer k|application/octet-stream|"},
		{func() (int, []byte, error) { return s.Post(ctx, "/tokenize", []byte(`{"a":1}`)) }, 200, `POST|/tokenize|Bearer k|application/json|{"a":1}`},
	} {
		if code, body, err := c.call(); err != nil || code != c.code || string(body) != c.want {
			t.Errorf("%d %s %v, want %d %s", code, body, err, c.code, c.want)
		}
	}
	r := Readiness{Within: 5 * time.Second, Every: 10 * time.Millisecond, Try: s.Models}
	if err := WaitReady(ctx, r); err != nil {
		t.Error(err)
	}
	srv.stop()
	if _, _, err := s.Get(ctx, "/v1/models"); err == nil || !strings.HasPrefix(err.Error(), "GET /v1/models: ") {
		t.Errorf("error %v", err)
	}
}

// A server that accepts and says nothing, or stops inside its answer, is told as
// that, not as a context of this program.
func TestSideNoAnswer(t *testing.T) {
	for name, said := range map[string]string{"silent": "", "inside": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"} {
		srv := serve(t, func(c net.Conn, _ *http.Request, _ int64) bool {
			io.WriteString(c, said)
			io.Copy(io.Discard, c)
			return false
		})
		s, err := NewSide(Options{URL: srv.url()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		if _, _, err := s.Get(ctx, "/v1/models"); !errors.Is(err, ErrNoAnswer) || strings.Contains(err.Error(), "context") {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
		s.Close()
	}
	if _, err := NewSide(Options{URL: "http://127.0.0.1:1"}, []Header{{"A B", "c"}}); err == nil {
		t.Error("a header that cannot be sent is taken")
	}
}
