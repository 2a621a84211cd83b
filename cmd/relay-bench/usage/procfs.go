// Package usage tells what processes use of the machine: CPU and memory, over time. It needs
// Linux's /proc.
package usage

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// Usage is what a process has used so far.
type Usage struct {
	CPU  time.Duration // user and system, of all threads
	RSS  int64         // bytes resident now
	Peak int64         // bytes resident at most since its start
}

// clockTick is the unit of the times in /proc/PID/stat: USER_HZ, which Linux
// has fixed at 100 for every architecture that Go runs on.
const clockTick = 10 * time.Millisecond

// proc is where the kernel tells about processes.
var proc = os.DirFS("/proc")

// Of asks the kernel about a process.
func Of(pid int) (Usage, error) {
	stat, err := fs.ReadFile(proc, fmt.Sprintf("%d/stat", pid))
	if err != nil {
		return Usage{}, fmt.Errorf("read usage: %w", err)
	}
	status, err := fs.ReadFile(proc, fmt.Sprintf("%d/status", pid))
	if err != nil {
		return Usage{}, fmt.Errorf("read usage: %w", err)
	}
	var u Usage
	if u.CPU, err = parseStat(stat); err != nil {
		return Usage{}, fmt.Errorf("read usage: %w", err)
	}
	if u.RSS, err = parseStatus(status, "VmRSS"); err != nil {
		return Usage{}, fmt.Errorf("read usage: %w", err)
	}
	if u.Peak, err = parseStatus(status, "VmHWM"); err != nil {
		return Usage{}, fmt.Errorf("read usage: %w", err)
	}
	return u, nil
}

// Fields of /proc/PID/stat behind the command's name, from 0.
const (
	fieldUserTime   = 11
	fieldSystemTime = 12
)

// parseStat takes the CPU time out of /proc/PID/stat. The command's name stands
// in parentheses and may hold anything, parentheses and spaces too.
func parseStat(stat []byte) (time.Duration, error) {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return 0, fmt.Errorf("parse stat: no command in %q", stat)
	}
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) <= fieldSystemTime {
		return 0, fmt.Errorf("parse stat: %d fields behind the command, want more than %d", len(fields), fieldSystemTime)
	}
	var ticks int64
	for _, field := range []int{fieldUserTime, fieldSystemTime} {
		n, err := strconv.ParseInt(fields[field], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("parse stat: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}

// parseStatus takes a size in bytes out of /proc/PID/status.
func parseStatus(status []byte, name string) (int64, error) {
	for line := range strings.Lines(string(status)) {
		value, ok := strings.CutPrefix(line, name+":")
		if !ok {
			continue
		}
		number, ok := strings.CutSuffix(strings.TrimSpace(value), " kB")
		if !ok {
			return 0, fmt.Errorf("parse status: %s is %q, want kB", name, value)
		}
		kb, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("parse status: %s: %w", name, err)
		}
		return kb << 10, nil
	}
	return 0, fmt.Errorf("parse status: no %s", name)
}

// LoadAverage is the machine's over the last minute, as the kernel words it; ""
// where there is none.
func LoadAverage() string {
	text, err := fs.ReadFile(proc, "loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
