package auth

import (
	"fmt"
	"os"

	"outboxrelay/dlq"
)

// ReadRoles reads a roles file once, as a service does that is started with it.
// Its error names every fault with its line.
func ReadRoles(path string) (map[string]dlq.Role, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read roles file: %w", err)
	}
	if info.Size() > maxRolesBytes {
		return nil, fmt.Errorf("read roles file: %s has %d bytes, more than %d", path, info.Size(), maxRolesBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read roles file: %w", err)
	}
	return parseRoles(data, path)
}
