package doctor

import (
	"outboxrelay/contracts"
	"outboxrelay/deploy/requirements"
)

// load reads the catalog before all else: most of what follows is about what it
// asks for.
func (e *exam) load() error {
	catalog, err := e.Catalog()
	if err != nil {
		return err
	}
	e.catalog, e.needs = catalog, requirements.Of(catalog)
	return nil
}

// catalogue tells what the catalog is like.
func (e *exam) catalogue(err error) Group {
	g := Group{Name: "catalog"}
	const check = "catalog"
	did := "load the built-in catalog"
	if e.CatalogFile != "" {
		did = "load " + e.CatalogFile
	}
	if err != nil {
		f := Finding{Check: check, Result: Fail, Did: did, Detail: err.Error(), Hint: "serve does not start with it; what depends on the catalog is not looked at"}
		if e.CatalogFile != "" {
			f.Mend = []string{command(program, "catalog", "validate", e.CatalogFile)}
		}
		g.add(f)
		return g
	}
	g.ok(check, did, "%d outboxes, %d targets, %d topics", len(e.catalog.Outboxes), len(e.catalog.Targets), len(e.catalog.Topics()))
	for _, w := range e.catalog.Warnings {
		g.add(Finding{Check: check, Result: Warn, Did: did, Detail: w, Hint: "it is as the catalog says; change the catalog if it is not meant"})
	}
	return g
}

// handles reports whether the service itself sets claims: no topic stands in for
// the handler.
func (e *exam) handles() bool {
	return e.catalog != nil && e.catalog.Targets[e.Handler].Kind == contracts.KindHandler
}
