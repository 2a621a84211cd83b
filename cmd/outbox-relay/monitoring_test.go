package main

import (
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/deploy/monitoring"
	"outboxrelay/deploy/monitoring/promql"
	"outboxrelay/ier"
	"outboxrelay/relay/postgres/publisher"
	"outboxrelay/relay/workqueue"
	"outboxrelay/relay/workqueue/jobs"
	"outboxrelay/relay/workqueue/notifications"
)

// scraped is what a service's /metrics told: values by series.
type scraped map[string]string

// scrape reads /metrics.
func scrape(t *testing.T, addr string) scraped {
	t.Helper()
	status, body := fetch(t, addr, "/metrics")
	if status != http.StatusOK {
		t.Fatalf("/metrics = %d: %.200s", status, body)
	}
	all := make(scraped)
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if at := strings.LastIndexByte(line, ' '); at > 0 && line[0] != '#' {
			all[line[:at]] = line[at+1:]
		}
	}
	return all
}

// series returns the metric of a series, and its labels.
func series(t *testing.T, text string) (metric string, labels map[string]string) {
	t.Helper()
	q, err := promql.Read(text)
	if err != nil || len(q.Selectors) != 1 {
		t.Fatalf("series %q: %v, %v", text, q, err)
	}
	labels = make(map[string]string)
	for _, m := range q.Selectors[0].Matchers {
		labels[m.Label] = m.Value
	}
	return q.Selectors[0].Metric, labels
}

// exported are the metrics of a service: the values of each label of each.
type exported map[string]map[string][]string

func (s scraped) exported(t *testing.T) exported {
	all := make(exported)
	for text := range s {
		metric, labels := series(t, text)
		if all[metric] == nil {
			all[metric] = make(map[string][]string)
		}
		for label, value := range labels {
			if !slices.Contains(all[metric][label], value) {
				all[metric][label] = append(all[metric][label], value)
			}
		}
	}
	return all
}

// lacks says what an expression asks for that is not exported.
func (e exported) lacks(t *testing.T, expr string) (missing []string) {
	t.Helper()
	q, err := promql.Read(expr)
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"job", "instance"} // whoever scrapes adds them
	for _, s := range q.Selectors {
		labels, ok := e[s.Metric]
		if !ok {
			missing = append(missing, "metric "+s.Metric)
			continue
		}
		known = slices.AppendSeq(known, maps.Keys(labels))
		for _, m := range s.Matchers {
			for value := range strings.SplitSeq(m.Value, "|") {
				if !slices.Contains(labels[m.Label], value) {
					missing = append(missing, s.Metric+" with "+m.Label+" "+value)
				}
			}
		}
	}
	for _, label := range q.Labels {
		if !slices.Contains(known, label) {
			missing = append(missing, "label "+label+" in "+expr)
		}
	}
	return missing
}

// playbooks returns the pages of docs/playbooks, by file name.
func playbooks(t *testing.T) map[string]string {
	t.Helper()
	repository := os.DirFS("../..")
	names, err := fs.Glob(repository, monitoring.PlaybookDir+"/*.md")
	if err != nil || len(names) == 0 {
		t.Fatalf("no playbooks: %v", err)
	}
	pages := make(map[string]string)
	for _, name := range names {
		data, err := fs.ReadFile(repository, name)
		if err != nil {
			t.Fatal(err)
		}
		pages[name] = string(data)
	}
	return pages
}

// fenced returns the lines of a page's code of one kind.
func fenced(page, kind string) (lines []string) {
	for _, part := range strings.Split(page, "```"+kind+"\n")[1:] {
		code, _, _ := strings.Cut(part, "```")
		for line := range strings.Lines(code) {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// queuesTell adds what the work queues tell, which a service has that serves them: all of it
// is there as soon as a queue is made.
func (e exported) queuesTell(t *testing.T, at string) {
	t.Helper()
	db := firestoretest.Client(t, at).Client
	reg := prometheus.NewRegistry()
	metrics := workqueue.NewMetrics(reg)
	handler, err := notifications.New(db, notifications.Default(), notifications.NewMetrics(reg), nil)
	if err != nil {
		t.Fatal(err)
	}
	ofEvents := handler.Config()
	ofEvents.Metrics = metrics
	ofJobs := workqueue.Config{Client: db, Vocabulary: jobs.Vocabulary(), Handler: jobs.NewHandler(db, jobs.Templates{}, nil), Metrics: metrics}
	for _, cfg := range []workqueue.Config{ofEvents, ofJobs} {
		if _, err := workqueue.New(cfg); err != nil {
			t.Fatal(err)
		}
	}
	e.add(t, reg)
}

// publisherTells adds what the publisher of the outbox in Postgres tells: all of it is there
// as soon as one is made, which contacts nobody.
func (e exported) publisherTells(t *testing.T) {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), "postgres://nobody@127.0.0.1:1/none")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	reg := prometheus.NewRegistry()
	if _, err := publisher.New(publisher.Options{Pool: pool, Target: unreached{}, Registerer: reg}); err != nil {
		t.Fatal(err)
	}
	e.add(t, reg)
}

// unreached is a target that is given nothing.
type unreached struct{ ier.Target }

// add adds what a registry tells.
func (e exported) add(t *testing.T, reg *prometheus.Registry) {
	t.Helper()
	server := httptest.NewServer(promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	defer server.Close()
	for metric, labels := range scrape(t, strings.TrimPrefix(server.URL, "http://")).exported(t) {
		if _, there := e[metric]; !there {
			e[metric] = labels
			continue
		}
		for label, values := range labels {
			e[metric][label] = append(e[metric][label], values...)
		}
	}
}

// TestWatchedMetricsAreExported: every metric that rules, policies, dashboards and
// playbooks name is told by a service as soon as it runs, with the labels and the
// values that they ask for.
func TestWatchedMetricsAreExported(t *testing.T) {
	c := openConsulate(t)
	c.serve()
	all := scrape(t, strings.TrimPrefix(c.url, "http://")).exported(t)
	all.queuesTell(t, c.env[gcp.EnvFirestore])
	all.publisherTells(t)

	for _, expr := range monitoring.Define(c.catalog).Expressions() {
		for _, missing := range all.lacks(t, expr) {
			t.Errorf("%s is not exported, and asked for by %s", missing, expr)
		}
	}
	for name, page := range playbooks(t) {
		for _, expr := range fenced(page, "promql") {
			for _, missing := range all.lacks(t, expr) {
				t.Errorf("%s: %s is not exported", name, missing)
			}
		}
	}
}
