package console_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"

	"outboxrelay/dlq/console/consoletest"
)

// TestScreenshots writes the README's pictures into OUTBOX_RELAY_SCREENSHOTS; see
// make screenshots.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv("OUTBOX_RELAY_SCREENSHOTS")
	if dir == "" {
		t.Skip("OUTBOX_RELAY_SCREENSHOTS names no directory to write pictures to")
	}
	f := setup(t)
	shown := f.night()
	for _, shot := range []struct {
		name string
		look look
		path string
		open string // act whose form is open
	}{
		{"overview", look{as: "dev-operator", width: 1280, height: 960}, "/", ""},
		{"dead-letters", look{as: "dev-operator", width: 1280, height: 800}, "/dlq", ""},
		{"dead-letter", look{as: "dev-operator", width: 1280, height: 960, dark: true}, itemPath(shown), "replay"},
		{"bulk-replay", look{as: "dev-operator", width: 1280, height: 800}, "/replays/new?eventType=WalletDeducted", ""},
		{"phone", look{as: "dev-security", width: 390, height: 844}, "/", ""},
	} {
		p := f.open(shot.look, shot.path)
		if shot.open != "" {
			p.Click("#act-" + shot.open + " summary")
		}
		p.Until("its times are the reader's", "[...document.querySelectorAll('main time')].every(e => !e.textContent.endsWith('UTC'))")
		f.must(os.WriteFile(filepath.Join(dir, shot.name+".png"), small(t, consoletest.Value(p.Page, chromedp.CaptureScreenshot())), 0o644))
		p.close()
	}
}

// night is a queue after a bad hour: a topic that refused what it got, a consumer
// whose contract changed, an account whose claims could not be set, and a lane that
// somebody paused. It returns a dead letter to show.
func (f *fixture) night() *dlq.Item {
	f.t.Helper()
	at := time.Now().UTC().Add(-time.Hour)
	died := func(minutes int, code, message string) func(*dlq.Item) {
		return func(i *dlq.Item) {
			i.DeadAt = at.Add(time.Duration(minutes) * time.Minute)
			for n := range i.Errors {
				i.Errors[n].At, i.Errors[n].Code, i.Errors[n].Message = i.DeadAt.Add(time.Duration(n-3)*time.Second), code, message
			}
			i.Record["createdAt"] = i.DeadAt.Add(-time.Minute)
		}
	}
	var letters []*dlq.Item
	for n := range 9 {
		letters = append(letters, f.letter("accOutbox", "WalletDeducted", fmt.Sprintf("wallet-%d", 4211+7*n), int64(3+n), died(n, "Internal", "ledger: row is locked by migration 0042")))
	}
	for n := range 4 {
		letters = append(letters, f.letter("orgOutbox", "SkillRecognitionGranted", fmt.Sprintf("org-%d", 18+n), 2, died(12+n, "InvalidArgument", "attribute level: want a number")))
	}
	letters = append(letters,
		f.letter("skillOutbox", "SkillXpAdded", "skill-go", 41, died(31, "Internal", "connection reset by peer")),
		f.letter("accOutbox", "RoleChanged", "account-77", 5, died(40, "NotFound", "there is no user account-77"), func(i *dlq.Item) { i.Reason = contracts.ClaimsRefreshFailed }),
	)
	f.bury(letters...)
	return letters[0]
}

// small encodes a picture with the 256 colours that it has most of.
func small(t *testing.T, data []byte) []byte {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	counts := make(map[color.RGBA]int)
	bounds := img.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)]++
		}
	}
	var colours []color.RGBA
	for c := range counts {
		colours = append(colours, c)
	}
	slices.SortFunc(colours, func(a, b color.RGBA) int { return counts[b] - counts[a] })
	var palette color.Palette
	for _, c := range colours[:min(len(colours), 256)] {
		palette = append(palette, c)
	}
	out := image.NewPaletted(bounds, palette)
	draw.Draw(out, bounds, img, bounds.Min, draw.Src)
	var encoded bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&encoded, out); err != nil {
		t.Fatal(err)
	}
	return encoded.Bytes()
}
