//go:build unix

package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a child that calls the operator: the host of the check.
type process struct {
	cmd      *exec.Cmd
	requests *os.File
	answers  *os.File
	decoder  *json.Decoder
	arena    []byte
	at       uint64
	limit    time.Duration // of one request
	out, err capture
	ctx      context.Context
	unwatch  func() bool

	mu    sync.Mutex
	ended bool
}

// capture keeps the first bytes that are written to it.
type capture struct {
	mu    sync.Mutex
	kept  []byte
	total int
}

func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const most = 4096
	c.kept = append(c.kept, p[:min(len(p), most-min(len(c.kept), most))]...)
	c.total += len(p)
	return len(p), nil
}

// first is the first line, quoted.
func (c *capture) first() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	line, _, _ := bytes.Cut(c.kept, []byte("\n"))
	return fmt.Sprintf("%.120q", line)
}

func (c *capture) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

// startProcess starts the child; self makes its command, without files. The arena is memory of its own
// file, which no name leads to.
func startProcess(ctx context.Context, self func() *exec.Cmd, bytes int, limit time.Duration) (*process, error) {
	f, err := anonymousFile(bytes)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p := &process{limit: limit, ctx: ctx}
	if p.arena, err = mapArena(f); err != nil {
		return nil, err
	}
	answers, theirAnswers, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the operator's process: %w", err)
	}
	theirRequests, requests, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the operator's process: %w", err)
	}
	p.answers, p.requests, p.decoder = answers, requests, json.NewDecoder(answers)
	p.cmd = self()
	p.cmd.ExtraFiles = []*os.File{theirAnswers, theirRequests, f}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	p.cmd.WaitDelay = time.Second // a process that it left behind may hold the pipes
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = p.cmd.Start()
	theirAnswers.Close()
	theirRequests.Close()
	if err != nil {
		p.release()
		return nil, fmt.Errorf("start the operator's process: %w", err)
	}
	p.unwatch = context.AfterFunc(ctx, p.kill)
	return p, nil
}

// anonymousFile is shared memory where the system has it, otherwise a file that is removed at once.
func anonymousFile(bytes int) (*os.File, error) {
	const what = "make the arena"
	dir := "/dev/shm"
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		dir = ""
	}
	f, err := os.CreateTemp(dir, "lathe-arena-")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if err := errors.Join(os.Remove(f.Name()), f.Truncate(int64(bytes))); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return f, nil
}

func (p *process) memory() []byte { return p.arena }
func (p *process) base() uint64   { return p.at }

// load opens the library in the child. What is wrong with the library is an error, what it does while
// it is opened a *death.
func (p *process) load(file, op, isa string) error {
	abs := file // "": none, only ours
	if file != "" {
		var err error
		if abs, err = filepath.Abs(file); err != nil {
			return fmt.Errorf("open kernel %s: %w", file, err)
		}
	}
	a, err := p.ask(request{Ask: askOpen, File: abs, Op: op, ISA: isa})
	if err != nil {
		return err
	}
	if a.Error != "" && file != "" {
		a.Error = strings.ReplaceAll(a.Error, abs, file)
	}
	if a.Error != "" {
		return errors.New(a.Error)
	}
	p.at = a.Base
	return nil
}

func (p *process) open(touchable []span) error {
	r := request{Ask: askTouch}
	for _, s := range touchable {
		r.Touch = append(r.Touch, [2]int{s.from, s.n})
	}
	_, err := p.value(r)
	return err
}

func (p *process) supports(args int) (bool, error) {
	v, err := p.value(request{Ask: askSupports, Args: args})
	return v != 0, err
}

func (p *process) workspace(args int) (int, error) {
	v, err := p.value(request{Ask: askWorkspace, Args: args})
	return int(v), err
}

func (p *process) call(c call) (int32, error) {
	v, err := p.value(request{Ask: askCall, Args: c.args, Workspace: [2]int{c.workspace.from, c.workspace.n}, Parts: c.parts,
		Reverse: c.reverse, Copies: c.copies})
	return int32(v), err
}

func (p *process) value(r request) (int64, error) {
	a, err := p.ask(r)
	if err == nil && a.Error != "" {
		err = errors.New(a.Error)
	}
	return a.Value, err
}

// ask sends a request and waits for its answer, for the time limit at most.
func (p *process) ask(r request) (answer, error) { return p.askFor(r, p.limit) }

// askFor is ask with a limit of its own.
func (p *process) askFor(r request, limit time.Duration) (answer, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return answer{}, fmt.Errorf("ask the operator's process: %w", err)
	}
	_ = p.answers.SetReadDeadline(time.Now().Add(limit))
	if _, err := p.requests.Write(append(line, '\n')); err != nil {
		return answer{}, p.died(r, false)
	}
	var a answer
	if err := p.decoder.Decode(&a); err != nil {
		return answer{}, p.died(r, errors.Is(err, os.ErrDeadlineExceeded))
	}
	return a, nil
}

// died ends the child, which gave no answer, and says what that means.
func (p *process) died(r request, late bool) error {
	if late {
		p.kill()
	}
	p.wait()
	if err := context.Cause(p.ctx); err != nil {
		return err
	}
	doing := map[string]string{askOpen: "while it was opened", askSupports: "in its _supports", askWorkspace: "in its _workspace",
		askTime: "while it was timed"}[r.Ask]
	if doing == "" {
		doing = "while it was called"
	}
	if late {
		what := fmt.Sprintf("did not return within %v %s", p.limit, doing)
		if r.Reverse {
			what += ", where its parts run one after the other: it waits for another part"
		}
		return &death{Finding{Code: Hung, Detail: what}}
	}
	said := ""
	if p.err.size() > 0 {
		said = ", and said " + p.err.first()
	}
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return &death{Finding{Code: Crashed, Detail: fmt.Sprintf("%s %s%s", unix.SignalName(status.Signal()), doing, said)}}
	}
	return &death{Finding{Code: Exited, Detail: fmt.Sprintf("ended its process with status %d %s%s", p.cmd.ProcessState.ExitCode(), doing, said)}}
}

// kill ends the child and what it started.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	}
}

// wait returns when the child has ended, which it is made to within the time limit, and ends what it
// left behind.
func (p *process) wait() {
	if p.ended {
		return
	}
	timer := time.AfterFunc(p.limit, p.kill)
	_ = p.cmd.Wait()
	timer.Stop()
	p.kill()
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
}

// finish lets the child end and says what it printed.
func (p *process) finish() []Finding {
	p.requests.Close()
	p.wait()
	var out []Finding
	for _, s := range []struct {
		c    *capture
		name string
	}{{&p.out, "standard output"}, {&p.err, "standard error"}} {
		if n := s.c.size(); n > 0 {
			out = append(out, Finding{Code: Printed, Detail: fmt.Sprintf("wrote %d bytes to %s: %s", n, s.name, s.c.first())})
		}
	}
	return out
}

// release ends what is left.
func (p *process) release() {
	if p.unwatch != nil {
		p.unwatch()
	}
	if p.cmd.Process != nil && !p.ended {
		p.kill()
		p.wait()
	}
	p.requests.Close()
	p.answers.Close()
	_ = unix.Munmap(p.arena)
}
