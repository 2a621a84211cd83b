package child

import (
	"os/exec"
	"path/filepath"
)

// Installed is the path of a program: one that PATH finds, or else the last that a pattern of
// filepath.Glob does; "" where it is not installed.
func Installed(program string, patterns ...string) string {
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	for _, pattern := range patterns {
		if found, _ := filepath.Glob(pattern); len(found) > 0 { // fails only for a bad pattern
			return found[len(found)-1]
		}
	}
	return ""
}
