package doctor

import (
	"fmt"
	"math"
	"net"
	"runtime"
	"runtime/debug"
	"time"
)

const (
	// killedAfter is how long Cloud Run lets a container stop.
	killedAfter = 10 * time.Second
	// onCloudRun is the variable that Cloud Run gives its services.
	onCloudRun = "K_SERVICE"
)

// settings looks at what the service is started with.
func (e *exam) settings() Group {
	g := Group{Name: "settings"}
	if e.Project == "" {
		g.add(Finding{
			Check: "settings.project", Result: Fail, Detail: "no project is named, so that nothing can be asked of one",
			Hint: "set GOOGLE_CLOUD_PROJECT or --project",
		})
	} else {
		g.ok("settings.project", "", "project %s, database %s", e.Project, e.Database)
	}
	for _, err := range e.Refusals {
		g.add(Finding{Check: "settings.refused", Result: Fail, Detail: why(err), Hint: "serve does not start like this"})
	}
	g.add(e.stopBudget())
	g.add(e.address())
	g.add(e.memory())
	return g
}

func (e *exam) stopBudget() Finding {
	f := Finding{Check: "settings.stop", Result: OK, Detail: "the stop budget is " + e.StopBudget.String() + ", within Cloud Run's " + killedAfter.String()}
	if e.StopBudget >= killedAfter {
		f.Result = Warn
		f.Detail = "the stop budget is " + e.StopBudget.String() + ": Cloud Run kills after " + killedAfter.String() + ", and what is in delivery then is delivered again"
		f.Hint = "set STOP_BUDGET below " + killedAfter.String() + "; 8s is the default"
	}
	return f
}

// address looks whether the platform can reach the service where it listens.
func (e *exam) address() Finding {
	f := Finding{Check: "settings.address", Result: OK, Detail: "serves on " + e.Host}
	ip := net.ParseIP(e.Host)
	loopback := e.Host == "localhost" || (ip != nil && ip.IsLoopback())
	switch {
	case loopback && e.Env(onCloudRun) != "":
		f.Result, f.Detail = Fail, "HOST is "+e.Host+": Cloud Run's probes and requests do not reach it"
		f.Hint = "leave HOST unset: 0.0.0.0 is the default"
	case loopback:
		f.Detail += ", for this machine alone"
	}
	return f
}

// memory tells what the Go runtime was told of its container. Here it is that of
// the doctor, which is the service's only where they run alike.
func (e *exam) memory() Finding {
	f := Finding{Check: "settings.memory", Did: "ask the Go runtime of this process"}
	limit := debug.SetMemoryLimit(-1)
	switch {
	case limit != math.MaxInt64:
		f.Result, f.Detail = OK, fmt.Sprintf("memory limit %d MiB, GOMAXPROCS %d", limit>>20, runtime.GOMAXPROCS(0))
	case e.Env(onCloudRun) == "":
		f.Result, f.Detail = Skip, "this is not the service's container, and has no memory limit"
	default:
		f.Result, f.Detail = Warn, "the Go runtime knows no memory limit: a large backlog may have the container killed rather than collected"
		f.Hint = "set GOMEMLIMIT to nine tenths of the container's memory"
	}
	return f
}
