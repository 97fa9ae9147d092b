package podman

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
)

// machineLength is how many bytes of a hash tell machines apart.
const machineLength = 8

// machine returns what tells this machine, with Podman's storage in this folder, from all others; "" where nothing does. It is a hash:
// what stands in /etc/machine-id is not to be told to others (machine-id(5)). A machine without that is another one after each boot.
func machine(store string) string {
	for _, file := range []string{"/etc/machine-id", "/proc/sys/kernel/random/boot_id"} {
		if id, err := os.ReadFile(file); err == nil && len(bytes.TrimSpace(id)) > 0 {
			sum := sha256.Sum256(append(bytes.TrimSpace(id), store...))
			return hex.EncodeToString(sum[:machineLength])
		}
	}
	return ""
}
