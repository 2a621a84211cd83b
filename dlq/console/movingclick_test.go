package console_test

import "testing"

// A click that a fresh page moves its element away from is made again: what the other tests
// do to a page must not depend on when it is renewed.
func TestClickMeetsWhatMoves(t *testing.T) {
	f := setup(t)
	f.reviewable(1)
	p := f.open(look{as: "dev-operator"}, "/")
	eval[bool](p, `(() => {
		const button = document.createElement("button");
		button.id = "moves";
		button.onclick = () => { button.textContent = "was met"; };
		document.body.prepend(button);
		addEventListener("mousedown", () => { button.style.marginLeft = "500px"; }, { once: true });
		return true;
	})()`)
	p.Click("#moves")
	p.Shows("was met")
}
