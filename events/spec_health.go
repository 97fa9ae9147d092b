package events

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Defaults and limits of a health check.
const (
	DefaultCheckInterval = Duration(10 * time.Second)
	DefaultCheckTimeout  = Duration(2 * time.Second)
	DefaultCheckRetries  = 3
	MinCheckInterval     = Duration(100 * time.Millisecond)
	MaxCheckInterval     = Duration(time.Hour)
	MaxCheckRetries      = 100
	MaxStartPeriod       = Duration(time.Hour)
)

// HealthSpec says how a node knows whether an instance serves.
type HealthSpec struct {
	// Health is asked by the node from the start of each attempt: the instance is online once it is healthy. Without
	// it an instance is online when its process runs.
	Health *Health `json:"health,omitempty"`
}

// Health is one check. Exactly one of http, tcp and exec says how.
type Health struct {
	HTTP *HTTPCheck `json:"http,omitempty"`
	TCP  *TCPCheck  `json:"tcp,omitempty"`
	// Exec is a command that is run in the container: well where it ends with 0.
	Exec []string `json:"exec,omitempty"`
	// Interval is the time from the end of one check to the next. Until the first check passes, it is at most 1s. Default: 10s.
	Interval Duration `json:"interval,omitzero"`
	// Timeout is how long one check may take. Default: 2s.
	Timeout Duration `json:"timeout,omitzero"`
	// Retries is how many checks in a row must fail before a healthy instance is unhealthy. An instance that was never healthy has that
	// many intervals. Default: 3.
	Retries uint32 `json:"retries,omitzero"`
	// StartPeriod is how much longer an instance that was never healthy has. Default: 0s.
	StartPeriod Duration `json:"start_period,omitzero"`
}

// HTTPCheck is well where a GET is answered with a status from 200 to 399. Redirections are not followed.
type HTTPCheck struct {
	// Port is the name of one of the service's ports.
	Port string `json:"port"`
	// Path is the path of the request, with its query. Default: "/".
	Path string `json:"path,omitempty"`
}

// TCPCheck is well where a connection is taken.
type TCPCheck struct {
	// Port is the name of one of the service's ports.
	Port string `json:"port"`
}

// canonical writes out the defaults.
func (s HealthSpec) canonical() HealthSpec {
	if s.Health == nil {
		return s
	}
	h := *s.Health
	if h.HTTP != nil && h.HTTP.Path == "" {
		h.HTTP = &HTTPCheck{Port: h.HTTP.Port, Path: "/"}
	}
	if h.Interval == 0 {
		h.Interval = DefaultCheckInterval
	}
	if h.Timeout == 0 {
		h.Timeout = DefaultCheckTimeout
	}
	if h.Retries == 0 {
		h.Retries = DefaultCheckRetries
	}
	return HealthSpec{&h}
}

func (s HealthSpec) check(ports []Port) error {
	if s.Health == nil {
		return nil
	}
	h := *s.canonical().Health
	if err := h.checkHow(ports); err != nil {
		return err
	}
	for _, d := range []struct {
		field       string
		value       Duration
		least, most Duration
	}{
		{"health.interval", h.Interval, MinCheckInterval, MaxCheckInterval},
		{"health.timeout", h.Timeout, MinCheckInterval, MaxCheckInterval},
		{"health.start_period", h.StartPeriod, 0, MaxStartPeriod},
	} {
		if err := checkBetween(d.field, d.value, d.least, d.most); err != nil {
			return err
		}
	}
	if h.Retries > MaxCheckRetries {
		return Reject(CodeOutOfRange, "health.retries", "health.retries %d is more than %d", h.Retries, MaxCheckRetries)
	}
	return nil
}

func checkBetween(field string, d, least, most Duration) error {
	if d < least || d > most {
		return Reject(CodeOutOfRange, field, "%s %s is not between %s and %s", field, time.Duration(d), time.Duration(least), time.Duration(most))
	}
	return nil
}

func (h Health) checkHow(ports []Port) error {
	ways := 0
	for _, given := range []bool{h.HTTP != nil, h.TCP != nil, len(h.Exec) > 0} {
		if given {
			ways++
		}
	}
	switch {
	case ways != 1:
		return Reject(CodeInvalidValue, "health", "health has %d of http, tcp and exec: give exactly one", ways)
	case h.HTTP != nil:
		if err := checkHTTPPath("health.http.path", h.HTTP.Path); err != nil {
			return err
		}
		return checkPortName("health.http.port", h.HTTP.Port, ports)
	case h.TCP != nil:
		return checkPortName("health.tcp.port", h.TCP.Port, ports)
	}
	return checkList("health.exec", h.Exec)
}

// checkPortName refuses what is not the name of a TCP port of the service.
func checkPortName(field, name string, ports []Port) error {
	i := slices.IndexFunc(ports, func(p Port) bool { return p.Name == name && p.Protocol != UDP })
	if i >= 0 {
		return nil
	}
	names := make([]string, 0, len(ports))
	for _, p := range ports {
		names = append(names, fmt.Sprintf("%q", p.Name))
	}
	return Reject(CodeInvalidValue, field, "%s %s is not the name of a tcp port of the service: it has %d, %s",
		field, quote(name), len(ports), strings.Join(names, ", "))
}
