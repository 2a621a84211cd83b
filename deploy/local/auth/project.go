package auth

import (
	"maps"
	"slices"
)

// project holds one project's accounts. Projects know nothing of each other.
type project struct {
	accounts map[string]account // by local ID
	byEmail  map[string]string  // canonical address to local ID
}

func newProject() *project {
	return &project{accounts: map[string]account{}, byEmail: map[string]string{}}
}

// change is what one call does to a project: it removes all accounts, or removes
// some, and then stores some. It is also a frame of the journal.
type change struct {
	Project string    `json:"project"`
	Clear   bool      `json:"clear,omitempty"`
	Remove  []string  `json:"remove,omitempty"` // local IDs
	Put     []account `json:"put,omitempty"`
}

func (c change) empty() bool { return !c.Clear && len(c.Remove) == 0 && len(c.Put) == 0 }

func (p *project) apply(c change) {
	if c.Clear {
		clear(p.accounts)
		clear(p.byEmail)
	}
	for _, id := range c.Remove {
		delete(p.byEmail, p.accounts[id].Email)
		delete(p.accounts, id)
	}
	for _, a := range c.Put {
		if old := p.accounts[a.LocalID].Email; old != "" {
			delete(p.byEmail, old)
		}
		if a.Email != "" {
			p.byEmail[a.Email] = a.LocalID
		}
		p.accounts[a.LocalID] = a
	}
}

// withEmail finds an account by its canonical address.
func (p *project) withEmail(email string) (account, bool) {
	a, ok := p.accounts[p.byEmail[email]]
	return a, ok
}

// sorted returns the accounts whose ID comes after the one given.
func (p *project) sorted(after string) []account {
	var out []account
	for _, id := range slices.Sorted(maps.Keys(p.accounts)) {
		if id > after {
			out = append(out, p.accounts[id])
		}
	}
	return out
}
