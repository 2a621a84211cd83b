package child

import (
	"os/exec"
	"runtime"
)

// Bind starts cmd so that, on Linux, the kernel kills it when this process dies. ended is called
// with what Wait said, on a goroutine of its own that ends with the child.
func Bind(cmd *exec.Cmd, ended func(error)) error {
	bind(cmd)
	started := make(chan error, 1)
	go func() {
		// The kernel takes the end of the thread that started a child for the end of its parent.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			ended(cmd.Wait())
		}
	}()
	return <-started
}
