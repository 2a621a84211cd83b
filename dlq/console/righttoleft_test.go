package console_test

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// leftToRight reports for each element whether its characters other than those that are
// read from right to left stand one behind the other, as an ID is read.
const leftToRight = `(selector) => [...document.querySelectorAll(selector)].filter(e => e.offsetParent).map(e => {
	let last = { left: -1 };
	const walk = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
	while (walk.nextNode()) for (let n = 0; n < walk.currentNode.length; n++) {
		if (!/[-:0-9a-z]/.test(walk.currentNode.data[n])) continue;
		const range = document.createRange();
		range.setStart(walk.currentNode, n);
		range.setEnd(walk.currentNode, n + 1);
		const at = range.getBoundingClientRect();
		if (at.left < last.left && at.top < last.bottom) return false;
		last = at;
	}
	return true;
})`

// What is written from right to left turns nothing beside it around: not the version at
// the end of an ID, nor the words that follow a name.
func TestTextFromRightToLeftTurnsNothingAround(t *testing.T) {
	f := setup(t)
	const name = "\u05d0\u05d1\u05d2"
	i := f.die("accOutbox", "RoleChanged", name, 3, func(i *dlq.Item) { i.ID, i.EventID = "7f0c:"+name+":3", name })
	p := f.open(look{as: "dev-security"}, itemPath(i))
	for _, selector := range []string{".back code", ".copied code", "#freeze strong"} {
		p.Until(selector+" is there", fmt.Sprintf("document.querySelector(%q)", selector))
		for n, ok := range eval[[]bool](p, fmt.Sprintf("(%s)(%q)", leftToRight, selector)) {
			if !ok {
				t.Errorf("number %d of %s is turned around", n, selector)
			}
		}
	}
	p.quiet()
}

// The marks that keep it apart stand in no address, no attribute and no title.
func TestWhatKeepsTextApartIsInElementsAlone(t *testing.T) {
	f := setup(t)
	const name = "\u05d0\u05d1\u05d2"
	i := f.die("accOutbox", "WalletDeducted", name, 3, func(i *dlq.Item) {
		i.EventType = name
		i.Errors = append(i.Errors, contracts.AttemptError{At: i.DeadAt, Attempt: 4, Target: name, Code: "Internal", Message: "<b>" + name + "</b>"})
	})
	for _, path := range []string{"/dlq?aggregateId=" + name, itemPath(i), "/trace?aggregateId=" + name} {
		status, page := f.person("dev-operator").get(path)
		if status != http.StatusOK || !regexp.MustCompile("<bdi>"+name+"</bdi>").MatchString(page) {
			t.Errorf("%s: status %d, without what keeps the text apart", path, status)
		}
		if bad := regexp.MustCompile(`(<title>[^<]*|="[^"]*)(<|&lt;)/?bdi|<b>`).FindString(page); bad != "" {
			t.Errorf("%s: %q", path, bad)
		}
	}
}
