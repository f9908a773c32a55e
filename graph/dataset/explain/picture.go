package explain

import (
	"encoding/xml"
	"fmt"
	"strings"

	"millrace/internal/base/figures"
)

// The sizes of a picture, in pixels.
const (
	boxWidth   = 250
	boxHeight  = 62
	columnGap  = 24
	rowGap     = 26
	margin     = 20
	panelGap   = 60
	titleSpace = 34
	noteWidth  = 800 // width of the sentence below
)

// maxArguments is the number of characters of arguments that fit into a box.
const maxArguments = 40

// SVG returns the description as a picture that a browser shows: on the left the
// dataset as built, on the right as TensorFlow runs it. Data flows from the top to the
// bottom; dashed lines come from the datasets that a function returns. After a pass a
// bar shows each stage's share of the work, and the bottleneck is red.
func (d *Dataset) SVG() []byte {
	p := &picture{of: d}
	p.slowest, _ = d.Bottleneck()
	x, height := margin, 0
	for _, side := range d.sides() {
		rows := side.root.rows()
		p.text(x, margin+12, "title", side.title)
		p.draw(side.root, x, margin+titleSpace+(rows-1)*(boxHeight+rowGap))
		x += side.root.width() + panelGap
		height = max(height, margin+titleSpace+rows*(boxHeight+rowGap))
	}
	if d.Elements > 0 {
		p.text(margin, height+8, "note", figures.Of(d.Elements, "element")+" in "+figures.Milliseconds(d.Time))
		p.text(margin, height+26, "note", d.verdict())
		height += 34
	}
	width := max(x-panelGap+margin, noteWidth)
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d">`+"\n", width, height+margin)
	out.WriteString(style)
	out.WriteString(p.lines.String()) // below the boxes
	out.WriteString(p.boxes.String())
	out.WriteString("</svg>\n")
	return []byte(out.String())
}

// side is a tree of stages with its title.
type side struct {
	title string
	root  *Stage
}

// sides returns the trees to show: one if TensorFlow's rewrites change nothing.
func (d *Dataset) sides() []side {
	if same(d.Built, d.Run) {
		return []side{{"as built, and as TensorFlow runs it", d.Run}}
	}
	return []side{{"as built", d.Built}, {"as TensorFlow runs it", d.Run}}
}

const style = `<style>
text { font: 12px sans-serif; fill: #222 } .title { font-weight: bold; font-size: 14px } .name { font-weight: bold } .small { font-size: 11px; fill: #555 }
rect.stage { fill: #f6f8fa; stroke: #8a94a0 } rect.slowest { fill: #fdecea; stroke: #c0392b; stroke-width: 2 } rect.share { fill: #5b8def }
path { fill: none; stroke: #8a94a0; stroke-width: 1.5 } path.function { stroke-dasharray: 4 3 }
</style>
<rect width="100%" height="100%" fill="#fff"/>
`

// picture collects what is drawn.
type picture struct {
	of           *Dataset
	slowest      *Stage
	lines, boxes strings.Builder
}

// draw draws a tree of stages. x is the left border of the space that it may use, y
// the upper border of its last box. It returns the middle of that box.
func (p *picture) draw(s *Stage, x, y int) (middle int) {
	middle = x + s.width()/2
	for i, in := range s.sources() {
		above := p.draw(in, x, y-boxHeight-rowGap)
		class := "input"
		if i >= len(s.Inputs) {
			class = "function"
		}
		fmt.Fprintf(&p.lines, `<path class="%s" d="M%d %d V%d H%d V%d"/>`+"\n", class, above, y-rowGap, y-rowGap/2, middle, y)
		x += in.width() + columnGap
	}
	p.box(s, middle-boxWidth/2, y)
	return middle
}

// box draws a stage.
func (p *picture) box(s *Stage, x, y int) {
	class := "stage"
	if s == p.slowest {
		class = "stage slowest"
	}
	fmt.Fprintf(&p.boxes, `<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="5"><title>`, class, x, y, boxWidth, boxHeight)
	p.escape(s.Op + " " + s.arguments())
	p.boxes.WriteString("</title></rect>\n")
	p.text(x+8, y+17, "name", s.Name())
	count := s.cardinality()
	if count == "?" {
		count = "elements not known"
	} else if count != "endless" {
		count = figures.Of(s.Cardinality, "element")
	}
	if m := s.Measured; m != nil {
		count = fmt.Sprintf("%s, %s produced, %s", figures.Milliseconds(m.Time), figures.Count(m.Elements), figures.Size(m.Bytes))
		if all := p.of.worked(); all > 0 {
			fmt.Fprintf(&p.boxes, `<rect class="share" x="%d" y="%d" width="%.1f" height="4"/>`+"\n", x+8, y+boxHeight-9, float64(boxWidth-16)*float64(m.Time)/float64(all))
		}
	}
	p.text(x+8, y+33, "small", count)
	arguments := s.arguments()
	if runes := []rune(arguments); len(runes) > maxArguments {
		arguments = string(runes[:maxArguments]) + "…"
	}
	p.text(x+8, y+48, "small", arguments)
}

// text draws a line of text.
func (p *picture) text(x, y int, class, text string) {
	fmt.Fprintf(&p.boxes, `<text class="%s" x="%d" y="%d">`, class, x, y)
	p.escape(text)
	p.boxes.WriteString("</text>\n")
}

// escape writes text that may contain any characters.
func (p *picture) escape(text string) {
	xml.EscapeText(&p.boxes, []byte(text)) // a strings.Builder never fails
}

// sources returns the stages whose data goes into a stage: its inputs, then the stages
// of its functions.
func (s *Stage) sources() []*Stage {
	return append(s.Inputs[:len(s.Inputs):len(s.Inputs)], s.Functions...)
}

// width returns the width of a tree of stages.
func (s *Stage) width() int {
	width := -columnGap
	for _, in := range s.sources() {
		width += in.width() + columnGap
	}
	return max(width, boxWidth)
}

// rows returns the number of boxes one above the other.
func (s *Stage) rows() int {
	rows := 0
	for _, in := range s.sources() {
		rows = max(rows, in.rows())
	}
	return rows + 1
}
