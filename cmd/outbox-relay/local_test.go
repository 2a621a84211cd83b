package main

import (
	"context"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/zap"
	"google.golang.org/grpc/codes"

	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/cmd/outbox-relay/localrun"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/deploy/local/pubsub"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/ier"
	"outboxrelay/relay"
)

func TestLocalRecords(t *testing.T) {
	thorough.EndToEnd(t)
	t.Parallel()
	got := runProgram(t, nil, "", "local", "--records", "200", "--rate", "0", "--http", "127.0.0.1:0")
	if got.code != shell.ExitOK {
		t.Fatalf("local: %+v", got)
	}
	for _, want := range []string{
		`200 records appended, 200 delivered, 0 in the dead-letter queue, 0 held, 0 lost, in `,
		`(?m)^CRITICAL +\d+ +\d+ +\d\S*( ms)? +\d\S*( ms)?$`,
		`(?m)^STANDARD +\d+ +\d+ +\d\S*( ms)? +\d\S*( ms)?$`,
		`(?m)^BACKGROUND +\d+ +\d+ +\d\S*( ms)? +\d\S*( ms)?$`,
		`\d+ messages, \d+ duplicates, 0 replays, 0 out of order`,
		`(?m)^claims  set \d+, tokens refreshed [1-9]\d* \(p50 \d\S*( ms)? from append\), refused 0$`,
		`(?m)^queues  notifications 12 of 12 dispatched, 24 in bells; jobs 12 of 12 sent$`,
		`billed per record: \d\.\d\d reads, \d\.\d\d writes, \d\.\d\d deletes`,
	} {
		if !regexp.MustCompile(want).MatchString(got.stdout) {
			t.Errorf("%q is not in the output:\n%s", want, got.stdout)
		}
	}
}

// The consumers that a catalog names act on each event that names them, once.
func TestLocalShowsTheConsumersOfTheMatchingCatalog(t *testing.T) {
	thorough.EndToEnd(t)
	t.Parallel()
	got := runProgram(t, nil, "", "local", "--catalog", "../../contracts/catalogs/matching.yaml", "--records", "120", "--rate", "0", "--http", "127.0.0.1:0")
	if got.code != shell.ExitOK {
		t.Fatalf("local: %+v", got)
	}
	if !strings.Contains(got.stdout, "120 records appended, 120 delivered, 0 in the dead-letter queue, 0 held, 0 lost, in ") {
		t.Errorf("not all arrived:\n%s", got.stdout)
	}
	consumers := regexp.MustCompile(`(?m)^consumers  analytics (\d+), auth (\d+), chat \d+, matching (\d+), notifications \d+, trust_safety \d+; \d+ repeats$`).FindStringSubmatch(got.stdout)
	if consumers == nil {
		t.Fatalf("the consumers are not told of:\n%s", got.stdout)
	}
	// Moderation decisions go to auth and matching, and all others to analytics.
	all, _ := strconv.Atoi(consumers[1])
	decided, _ := strconv.Atoi(consumers[2])
	if all+decided != 120 || consumers[2] != consumers[3] {
		t.Errorf("analytics acted on %s, auth on %s, matching on %s of 120", consumers[1], consumers[2], consumers[3])
	}
}

func TestLocalShowsAnOutageAndDeadLetters(t *testing.T) {
	thorough.Long(t)
	// The outage is announced, begins and ends while records flow, also on a
	// machine that stalls now and then. As all this is by the clock, no other test
	// runs beside it.
	got := runProgram(t, nil, "", "local", "--records", "300", "--rate", "60", "--http", "127.0.0.1:0",
		"--fault", "--fault-after", "1s", "--fault-for", "5s")
	if got.code != shell.ExitOK {
		t.Fatalf("local: %+v", got)
	}
	for _, want := range []string{
		"an outage of FUNNEL begins", "OUTAGE: every publish to FUNNEL fails for 5s", "the circuit breaker of FUNNEL is open",
		"the outage of FUNNEL is over", "1 SAFE_AUTO", "1 REVIEW_REQUIRED, 1 SECURITY_BLOCK; frozen aggregates: 1, records held: 3",
		// 3 records that die, of which one is replayed by itself after half a minute, 3 that are
		// held behind another, and 4 that pass the others.
		"310 records appended, 30(4 delivered, 3|5 delivered, 2) in the dead-letter queue, 3 held, 0 lost",
		// The SECURITY_BLOCK one is an account whose claims cannot be set.
		"so it is frozen", "refused 3",
	} {
		if !regexp.MustCompile(want).MatchString(got.stdout) {
			t.Errorf("%q is not in the output:\n%s", want, got.stdout)
		}
	}
}

// The commands that local --fault prints work as they are printed, and bring
// each dead letter to its end.
func TestLocalPrintsCommandsThatWork(t *testing.T) {
	thorough.EndToEnd(t)
	t.Parallel()
	run := startProgram(t, nil, "local", "--fault", "--http", "127.0.0.1:0", "--rate", "5")
	run.stdout.find(t, "(1 REVIEW_REQUIRED, 1 SECURITY_BLOCK; frozen aggregates: 1, records held: 3)")
	printed := regexp.MustCompile(`(?m)^  OUTBOX_RELAY_URL=(\S+) OUTBOX_RELAY_TOKEN=(\S+) .* dlq (.+)$`).FindAllStringSubmatch(run.stdout.String(), -1)
	if len(printed) != 11 {
		t.Fatalf("%d commands are printed, want 11:\n%s", len(printed), run.stdout)
	}
	for _, p := range printed {
		args := []string{"dlq"}
		for _, word := range regexp.MustCompile(`'[^']*'|\S+`).FindAllString(p[3], -1) {
			args = append(args, strings.Trim(word, "'"))
		}
		var got result
		eventually(t, "its target takes it", func() bool { // it was refused until somebody saw that it is dead
			got = runProgram(t, map[string]string{"OUTBOX_RELAY_URL": p[1], "OUTBOX_RELAY_TOKEN": p[2]}, "", args...)
			return got.code != shell.ExitNotAll
		})
		if got.code != shell.ExitOK || got.stdout == "" {
			t.Errorf("%s as %s: %+v", p[3], p[2], got)
		}
	}
	run.stdout.find(t, "(?s)frozen aggregates: 1.*\n(dead letters: (1 SAFE_AUTO|none any more))\n") // that one is replayed by itself meanwhile, or not
	if code := run.stop(t); code != shell.ExitOK {
		t.Errorf("exit code %d, stderr:\n%s", code, run.stderr)
	}
	if out := run.stdout.String(); !strings.Contains(out, "0 held") || !regexp.MustCompile(`[23] replays, 0 out of order`).MatchString(out) {
		t.Errorf("the summary does not tell of the replays:\n%s", out)
	}
}

// A record that no target ever takes stands in the dead-letter queue, where the
// promise allows it to be.
func TestLocalCountsDeadLetters(t *testing.T) {
	thorough.EndToEnd(t)
	t.Parallel()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	catalog := testCatalog(t)
	run, err := localrun.Open(t.Context(), localrun.Config{
		Catalog: catalog, Listener: lis, Log: zap.NewNop(), Samples: true, Records: 60,
		OpenService: func(ctx context.Context, at gcp.Place, wrap func(ier.Target) ier.Target) (localrun.Service, error) {
			return openLocalService(ctx, serviceConfig{place: at, catalog: catalog, tuning: relay.DefaultTuning(), wrapHandler: wrap, log: zap.NewNop()}, lis.Addr())
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Cloud.PubSub.Faults().Add(pubsub.Fault{Topic: "ier-funnel-critical", Code: codes.InvalidArgument}); err != nil {
		t.Fatal(err)
	}
	run.Start(t.Context())
	var out strings.Builder
	if err := run.Show(t.Context(), &out, false); err != nil {
		t.Errorf("show: %v", err)
	}
	if !regexp.MustCompile(`60 records appended, \d+ delivered, [1-9]\d* in the dead-letter queue, 0 held, 0 lost`).MatchString(out.String()) {
		t.Errorf("the summary does not tell of dead letters:\n%s", out.String())
	}
}

func TestLocalRunsUntilItIsStopped(t *testing.T) {
	t.Parallel()
	run := startProgram(t, nil, "local", "--http", "127.0.0.1:0")
	console := run.stdout.find(t, `(?m)^console +http://(\S+)/console/$`)
	for _, path := range []string{"/console/", "/metrics", "/healthz"} {
		if status, _ := fetch(t, console, path); status != http.StatusOK {
			t.Errorf("%s = %d", path, status)
		}
	}
	if code := run.stop(t); code != shell.ExitOK {
		t.Errorf("exit code %d, stderr:\n%s", code, run.stderr)
	}
	if !strings.Contains(run.stdout.String(), "records appended") {
		t.Errorf("no summary:\n%s", run.stdout)
	}
}

func TestLocalWithoutSamples(t *testing.T) {
	t.Parallel()
	run := startProgram(t, nil, "local", "--no-samples", "--http", "127.0.0.1:0")
	firestore := run.stdout.find(t, `FIRESTORE_EMULATOR_HOST=(\S+)`)
	env := map[string]string{"GOOGLE_CLOUD_PROJECT": localrun.Project, gcp.EnvFirestore: firestore}
	if got := runProgram(t, env, "", "append", "--outbox", "accOutbox", "--samples", "3"); got.code != shell.ExitOK {
		t.Errorf("append beside it: %+v", got)
	}
	run.stdout.find(t, ` (in=[1-3] )`)
	if code := run.stop(t); code != shell.ExitOK {
		t.Errorf("exit code %d, stderr:\n%s", code, run.stderr)
	}
}

func TestLocalTellsATakenPort(t *testing.T) {
	cloud := startCloud(t)
	got := runProgram(t, nil, "", "local", "--http", cloud.PubSubAddr)
	if got.code != shell.ExitFailed || !strings.Contains(got.stderr, "the port is taken; choose another with --http") {
		t.Errorf("local: %+v", got)
	}
}
