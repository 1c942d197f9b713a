package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

//go:embed html
var htmlFiles embed.FS

// Page is what the page of a run shows.
type Page struct {
	Report *analysis.Report
	// Record and Queue are the run with its discordant pairs, for their transcripts and
	// contexts. A disagreement of the report that is not in the queue is shown in short.
	Record *replay.Record
	Queue  []pairing.Entry
	// Figures are drawn elsewhere; one that is nil is left out.
	Figures Figures
}

// Figures are the plots of a page.
type Figures struct{ Effect, Evidence, Retention, Power *Figure }

// Figure is a plot as SVG, for a light and for a dark background.
type Figure struct {
	// Title names the plot, Description says in words what it shows.
	Title, Description string
	Light, Dark        []byte
}

// HTML writes the page of a run: one file that needs no other and no network, and that
// works without scripts. The same page gives the same bytes. Long texts are cut, with a
// note of how much, so that a page of 40 pairs stays below 5 MB however long they are.
//
// Whatever text of recordings and models holds, it stays text: it is escaped, characters
// that a reader cannot see or that would turn the direction of writing are shown by
// name, and the page's own policy lets nothing run but its own script.
func HTML(out io.Writer, page Page) error {
	style, err := inline("style", "html/page.css")
	if err != nil {
		return err
	}
	script, err := inline("script", "html/page.js")
	if err != nil {
		return err
	}
	pattern, err := template.New("page.tmpl").Funcs(template.FuncMap{"image": image, "source": source}).ParseFS(htmlFiles, "html/*.tmpl")
	if err != nil {
		return fmt.Errorf("writing the page of a run: %w", err)
	}
	view := newPageView(&page)
	view.Style, view.Script = style.element, script.element
	// Nothing but this very style, this very script and the plots inside the page.
	view.Policy = fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; img-src data:; base-uri 'none'; form-action 'none'", style.hash, script.hash)
	var b bytes.Buffer
	if err := pattern.Execute(&b, view); err != nil {
		return fmt.Errorf("writing the page of a run: %w", err)
	}
	// The views show text by its visible form already; this holds for all that a view
	// might have forgotten.
	if _, err := io.WriteString(out, visible(b.String())); err != nil {
		return fmt.Errorf("writing the page of a run: %w", err)
	}
	return nil
}

// inlined is a file that stands in the page, with its hash as a policy names it.
type inlined struct {
	element template.HTML
	hash    string
}

// inline puts a file of our own into an element.
func inline(element, name string) (inlined, error) {
	data, err := htmlFiles.ReadFile(name)
	if err != nil {
		return inlined{}, fmt.Errorf("writing the page of a run: %w", err)
	}
	sum := sha256.Sum256(data)
	return inlined{
		element: template.HTML("<" + element + ">" + string(data) + "</" + element + ">"),
		hash:    "sha256-" + base64.StdEncoding.EncodeToString(sum[:]),
	}, nil
}

// image makes an SVG the address of an image. Inside an image nothing of it can run, and
// its styles are its own.
func image(svg []byte) template.URL {
	return template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(svg))
}

// source is [image] where a list of addresses is wanted.
func source(svg []byte) template.Srcset { return template.Srcset(image(svg)) }
