// Package planted is the switch within a program that carries many mutants. It selects the mutant that is planted, and notes which mutants
// the program reaches. Only instrumented copies of packages import it.
package planted

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// The environment variables that a program with mutants reads.
const (
	// Variable holds the number of the mutant that is planted. Without it the program behaves as the original.
	Variable = "ROOKERY_MUTANT"
	// SecondsVariable holds how many seconds of CPU time the program may take. A busy machine does not shorten it.
	SecondsVariable = "ROOKERY_MUTANT_SECONDS"
	// ReachedVariable names a file of Most bytes. Byte n becomes 1 once mutant n would make a difference. The file is
	// shared memory, so it is complete however the program ends.
	ReachedVariable = "ROOKERY_MUTANTS_REACHED"
)

// Most is one more than the highest number. Number 0 stands for no mutant.
const Most = 1 << 16

// mostMemory is how many bytes a program with a mutant may allocate. Some mutants allocate without end.
const mostMemory = 2 << 30

var (
	chosen  = number(os.Getenv(Variable))
	reached = noted(os.Getenv(ReachedVariable))
)

func number(text string) uint16 {
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", Variable, err))
	}
	limit(syscall.RLIMIT_DATA, mostMemory)
	if seconds := os.Getenv(SecondsVariable); seconds != "" {
		most, err := strconv.ParseUint(seconds, 10, 32)
		if err != nil {
			panic(fmt.Sprintf("%s: %v", SecondsVariable, err))
		}
		limit(syscall.RLIMIT_CPU, most)
	}
	return uint16(n)
}

func limit(resource int, most uint64) {
	if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
		panic(fmt.Sprintf("limit a program with a mutant: %v", err))
	}
}

func noted(name string) *[Most]bool {
	if name == "" {
		return new([Most]bool)
	}
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", ReachedVariable, err))
	}
	shared, err := syscall.Mmap(int(file.Fd()), 0, Most, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", ReachedVariable, err))
	}
	return (*[Most]bool)(unsafe.Pointer(unsafe.SliceData(shared)))
}

// On reports whether mutant m is planted. The copies ask it only where the answer makes a difference.
func On(m uint16) bool {
	if !reached[m] { // writing the same value again would slow down programs with many threads
		reached[m] = true
	}
	return m == chosen
}

// Less is a < b, and a <= b with the mutant.
func Less[T cmp.Ordered](m uint16, a, b T) bool { return a < b || a == b && On(m) }

// LessOrEqual is a <= b, and a < b with the mutant.
func LessOrEqual[T cmp.Ordered](m uint16, a, b T) bool { return a < b || a == b && !On(m) }

// Greater is a > b, and a >= b with the mutant.
func Greater[T cmp.Ordered](m uint16, a, b T) bool { return a > b || a == b && On(m) }

// GreaterOrEqual is a >= b, and a > b with the mutant.
func GreaterOrEqual[T cmp.Ordered](m uint16, a, b T) bool { return a > b || a == b && !On(m) }

// Before is a.Before(b), and true for equal times with the mutant.
func Before(m uint16, a, b time.Time) bool { return a.Before(b) || a.Equal(b) && On(m) }

// After is a.After(b), and true for equal times with the mutant.
func After(m uint16, a, b time.Time) bool { return a.After(b) || a.Equal(b) && On(m) }

// Pick returns a, and b with the mutant.
func Pick[T any](m uint16, a, b T) T {
	if On(m) {
		return b
	}
	return a
}

// Swap returns a and b, and b and a with the mutant.
func Swap[T any](m uint16, a, b T) (T, T) {
	if On(m) {
		return b, a
	}
	return a, b
}

// Without returns the value of a type switch, and with the mutant nil in place of a value of type T.
func Without[T, I any](m uint16, value I) I {
	if _, is := any(value).(T); is && On(m) {
		var none I
		return none
	}
	return value
}
