package auth

import (
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"testing"
)

// A full disk is an outage, which passes, and no fault of the account at hand.
func TestAFullDiskIsAnOutage(t *testing.T) {
	for cause, want := range map[error]int{
		fmt.Errorf("append to log: %w", syscall.ENOSPC): http.StatusServiceUnavailable,
		errors.New("sync log: input/output error"):      http.StatusInternalServerError,
	} {
		if got := internal(cause); got.code != want {
			t.Errorf("%v: status %d, want %d", cause, got.code, want)
		}
	}
}
