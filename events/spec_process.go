package events

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
)

// Limits on how the process of an instance is run.
const (
	MaxCapabilities = 64
	MaxUlimits      = 32
)

// ProcessSpec says how the process of an instance is run: as whom, where, and what it may do.
type ProcessSpec struct {
	// User runs the process: a name or number of the image, as in 1000. A colon and a group follow where that is not the user's own, as in
	// 1000:1000. Default: the image's user.
	User string `json:"user,omitempty"`
	// WorkingDir is the absolute path of the folder that the process begins in. Default: the image's.
	WorkingDir string `json:"working_dir,omitempty" jsonschema:"pattern=^(/.*)?$"`
	// Capabilities are those of Linux that the process has, as in NET_BIND_SERVICE: all others are dropped. A node refuses those beyond
	// Podman's own defaults unless its configuration allows them. Default: those of the cluster's security_context, which has none unless
	// an operator changed it.
	Capabilities []string `json:"capabilities,omitempty"`
	// ReadOnlyRoot makes the container's own files read-only. Volumes stay as they say.
	ReadOnlyRoot bool `json:"read_only_root,omitzero"`
	// Ulimits replace the node's limits on the process. A node that has a lower one itself gives that.
	Ulimits []Ulimit `json:"ulimits,omitempty"`
	// ShmSize is the size of /dev/shm. Default: Podman's, 64000KiB.
	ShmSize Size `json:"shm_size,omitzero"`
}

// Ulimit is one limit of a process, soft and hard in one: nothing inside the container may change it.
type Ulimit struct {
	// Name is that of setrlimit, as in nofile.
	Name UlimitName `json:"name"`
	// Value is in the limit's own unit. It has no default: 0 is a limit too.
	Value *uint64 `json:"value"`
}

// UlimitName is the name of a limit, as setrlimit has it.
type UlimitName string

// The limits that can be set.
const (
	UlimitAS         UlimitName = "as"
	UlimitCore       UlimitName = "core"
	UlimitCPU        UlimitName = "cpu"
	UlimitData       UlimitName = "data"
	UlimitFSize      UlimitName = "fsize"
	UlimitLocks      UlimitName = "locks"
	UlimitMemlock    UlimitName = "memlock"
	UlimitMsgQueue   UlimitName = "msgqueue"
	UlimitNoFile     UlimitName = "nofile"
	UlimitNProc      UlimitName = "nproc"
	UlimitRSS        UlimitName = "rss"
	UlimitSigPending UlimitName = "sigpending"
	UlimitStack      UlimitName = "stack"
)

var ulimitNames = []UlimitName{
	UlimitAS, UlimitCore, UlimitCPU, UlimitData, UlimitFSize, UlimitLocks, UlimitMemlock, UlimitMsgQueue, UlimitNoFile,
	UlimitNProc, UlimitRSS, UlimitSigPending, UlimitStack,
}

// canonical leaves out lists that are there but empty, and writes capabilities as the kernel does.
func (s ProcessSpec) canonical() ProcessSpec {
	capabilities := make([]string, 0, len(s.Capabilities))
	for _, c := range s.Capabilities {
		capabilities = append(capabilities, CapabilityName(c))
	}
	slices.Sort(capabilities)
	s.Capabilities = orNil(slices.Compact(capabilities))
	s.Ulimits = orNil(s.Ulimits)
	return s
}

func orNil[E any](list []E) []E {
	if len(list) == 0 {
		return nil
	}
	return list
}

// CapabilityName returns the kernel's name: CAP_NET_RAW for net_raw.
func CapabilityName(name string) string {
	return "CAP_" + strings.TrimPrefix(strings.ToUpper(name), "CAP_")
}

func (s ProcessSpec) check() error {
	if err := checkWord("user", s.User); err != nil {
		return err
	}
	if err := checkText("working_dir", s.WorkingDir); err != nil {
		return err
	}
	if s.WorkingDir != "" && !path.IsAbs(s.WorkingDir) {
		return Reject(CodeInvalidValue, "working_dir", "working_dir %s is not an absolute path: begin it with \"/\"", quote(s.WorkingDir))
	}
	if err := checkCapabilities(s.Capabilities); err != nil {
		return err
	}
	return checkUlimits(s.Ulimits)
}

// checkWord refuses text with white space or control characters in it. Nothing given is fine.
func checkWord(field, text string) error {
	if err := checkText(field, text); err != nil {
		return err
	}
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return Reject(CodeInvalidValue, field, "%s %s has white space or control characters in it", field, quote(text))
	}
	return nil
}

func checkCapabilities(names []string) error {
	if len(names) > MaxCapabilities {
		return Reject(CodeOutOfRange, "capabilities", "capabilities has %d entries, more than %d", len(names), MaxCapabilities)
	}
	for i, name := range names {
		field := fmt.Sprintf("capabilities[%d]", i)
		bare := strings.TrimPrefix(CapabilityName(name), "CAP_")
		if bare == "" || len(bare) > MaxName || strings.ContainsFunc(bare, func(r rune) bool { return (r < 'A' || r > 'Z') && r != '_' }) || bare == "ALL" {
			return Reject(CodeInvalidValue, field, "%s %s is not a capability: name one each, as in NET_BIND_SERVICE", field, quote(name))
		}
	}
	return nil
}

func checkUlimits(limits []Ulimit) error {
	if len(limits) > MaxUlimits {
		return Reject(CodeOutOfRange, "ulimits", "ulimits has %d entries, more than %d", len(limits), MaxUlimits)
	}
	for i, l := range limits {
		field := fmt.Sprintf("ulimits[%d].name", i)
		if !slices.Contains(ulimitNames, l.Name) {
			return Reject(CodeInvalidValue, field, "%s %s is not a limit: known are %s", field, quote(string(l.Name)), listed(ulimitNames))
		}
		if j := slices.IndexFunc(limits[:i], func(o Ulimit) bool { return o.Name == l.Name }); j >= 0 {
			return Reject(CodeInvalidValue, field, "ulimits[%d] and ulimits[%d] both set %s: leave one", j, i, l.Name)
		}
		if l.Value == nil {
			return Reject(CodeMissingField, fmt.Sprintf("ulimits[%d].value", i), "ulimits[%d].value is missing: say how many, as in {\"name\":\"nofile\",\"value\":1024}", i)
		}
	}
	return nil
}

// listed writes words as a list: "tcp, udp".
func listed[W ~string](words []W) string {
	all := make([]string, len(words))
	for i, word := range words {
		all[i] = string(word)
	}
	return strings.Join(all, ", ")
}
