package relay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// What panics may hold what a record says: neither the log of it does, nor its error, which is
// logged, too.
func TestAPanicsTextIsNotLogged(t *testing.T) {
	core, logs := observer.New(zap.DebugLevel)
	panics := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "panics"}, []string{"part"})
	err := guard{zap.New(core), panics}.do(partReader, func() error { panic(map[string]any{"iban": "a secret"}) })
	if !panicked(err) || strings.Contains(err.Error(), "secret") {
		t.Errorf("got error %v, want a panic without its text", err)
	}
	told := logs.All()
	if len(told) != 1 {
		t.Fatalf("%d lines are logged, want 1", len(told))
	}
	fields := told[0].ContextMap()
	if strings.Contains(fmt.Sprint(fields), "secret") {
		t.Errorf("the log tells %v", fields)
	}
	if fields["panic"] != "map[string]interface {}" || !strings.Contains(fmt.Sprint(fields["stack"]), "guardlog_test.go") {
		t.Errorf("the log tells neither what panicked nor where: %v", fields)
	}
}
