package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/embedded"
)

// patience bounds every wait.
const patience = time.Hour

// scene is a NATS server with the streams.
type scene struct {
	dir    string
	server *embedded.Server
	conn   *nats.Conn
	bus    *bus.JetStream
}

func newScene(ctx context.Context, dir string) (*scene, error) {
	server, err := embedded.Start(dir, "127.0.0.1", embedded.AnyPort)
	if err != nil {
		return nil, err
	}
	s := &scene{dir: dir, server: server}
	if s.conn, err = nats.Connect(server.URL()); err == nil {
		if s.bus, err = bus.New(s.conn); err == nil {
			err = s.bus.Init(ctx, 1)
		}
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *scene) close() {
	if s.conn != nil {
		s.conn.Close()
	}
	s.server.Stop()
}

// onDisk returns the bytes that the streams take.
func (s *scene) onDisk() (sum int64, err error) {
	err = filepath.WalkDir(s.dir, func(_ string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // the server has let go of it
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		if info, err := entry.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum, err
}

// coordinate is a coordinator that believes in its nodes, which are in the log alone, for as long as it runs.
func coordinate(ctx context.Context, url string) error {
	conn, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer conn.Close()
	b, err := bus.New(conn)
	if err != nil {
		return err
	}
	return runner.New(runner.Config{
		Bus: b, Name: "measured", Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})), Heartbeat: 24 * time.Hour,
	}).Run(ctx)
}

// process is a coordinator of its own.
type process struct {
	cmd   *exec.Cmd
	began time.Time
}

func (s *scene) start(ctx context.Context) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-coordinator", s.server.URL())
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	p := &process{cmd: cmd, began: time.Now()}
	return p, cmd.Start()
}

// stop ends the process, and returns the most memory that it had in bytes.
func (p *process) stop() (int64, error) {
	peak, err := peakOf(p.cmd.Process.Pid)
	return peak, errors.Join(err, p.cmd.Process.Signal(syscall.SIGTERM), p.cmd.Wait())
}

// peakOf returns the most memory that a process had in bytes.
func peakOf(pid int) (int64, error) {
	body, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(body, []byte("VmHWM:"))
	line, _, _ := bytes.Cut(rest, []byte(" kB"))
	kib, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
	return kib << 10, err
}

// ask asks a coordinator for the state.
func (s *scene) ask(ctx context.Context, question string) (state api.ClusterState, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	m, err := s.bus.Request(ctx, events.Message{Subject: events.APIRoot + ".state", Header: events.Header{}, Body: []byte(question)})
	if err != nil {
		return state, err
	}
	if why := m.Header.Get(bus.HeaderError); why != "" {
		return state, errors.New(why)
	}
	return state, json.Unmarshal(m.Body, &state)
}

// until asks again and again until it is so.
func until(ctx context.Context, so func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !so() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	return nil
}
