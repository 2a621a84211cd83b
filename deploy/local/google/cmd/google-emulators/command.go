package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// commandGrace is how long the command may take to end after it was told to.
const commandGrace = 10 * time.Second

// runCommand runs argv until it ends or ctx does, and returns its exit code. An
// error means that it could not be run or was cut short. On Linux the request to end
// reaches all that the command started, such as the test binaries of go test.
func runCommand(ctx context.Context, argv, env []string, to streams) (int, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = env
	cmd.Stdout, cmd.Stderr = to.out, to.err
	cmd.WaitDelay = commandGrace
	ownGroup(cmd)
	err := cmd.Run()
	killRest(cmd)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
		return exit.ExitCode(), nil
	}
	if err != nil {
		return exitFail, fmt.Errorf("run %s: %w", argv[0], err)
	}
	return exitOK, nil
}
