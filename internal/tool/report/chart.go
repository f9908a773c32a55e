package report

import (
	"bytes"
	"html/template"
	"image/color"
	"math"
	"regexp"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"millrace"
)

// colors distinguish the runs, also for people with colour blindness: the palette of
// Okabe and Ito.
var colors = []color.RGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255},
	{86, 180, 233, 255}, {230, 159, 0, 255}, {0, 0, 0, 255},
}

// Sizes of a chart, in points. The page scales it to its column.
const (
	chartWidth  vg.Length = 420
	chartHeight vg.Length = 240
)

// chart draws curves over the steps as an SVG element. The i-th run has the i-th color
// in every chart; a run may have no curve. fromZero makes the vertical axis begin at 0,
// so that noise is not exaggerated.
func chart(curves []*Series, fromZero bool) (template.HTML, error) {
	p := plot.New()
	p.X.Label.Text, p.X.Tick.Marker = "step", stepTicks{}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{225}, color.Gray{240}
	p.Add(grid)
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		setFont(&axis.Label.TextStyle.Font)
		setFont(&axis.Tick.Label.Font)
	}
	for i, s := range curves {
		if err := addCurve(p, s, colors[i%len(colors)]); err != nil {
			return "", err
		}
	}
	if fromZero {
		p.Y.Min = min(0, p.Y.Min)
	}
	widen(&p.X)
	widen(&p.Y)
	return svg(p)
}

// stepTicks labels the ticks of whole steps, without decimals.
type stepTicks struct{ plot.DefaultTicks }

func (t stepTicks) Ticks(least, most float64) []plot.Tick {
	ticks := t.DefaultTicks.Ticks(least, most)
	for i := range ticks {
		switch v := ticks[i].Value; {
		case ticks[i].IsMinor():
		case v == math.Trunc(v):
			ticks[i].Label = strconv.FormatFloat(v, 'f', -1, 64)
		default:
			ticks[i].Label = ""
		}
	}
	return ticks
}

// setFont makes a text sans-serif and small.
func setFont(f *font.Font) { f.Variant, f.Size = "Sans", 11 }

// widen gives an axis without a range a range, or the curve would not be drawn. It also
// widens a range that is so small that adding the distance of ticks to a value does not
// change it.
func widen(a *plot.Axis) {
	if a.Min > a.Max {
		a.Min, a.Max = 0, 1
	}
	if size := max(math.Abs(a.Min), math.Abs(a.Max)); a.Max-a.Min <= 1e-9*size {
		d := max(1e-9, size/10)
		a.Min, a.Max = a.Min-d, a.Max+d
	}
}

// addCurve adds a curve. It has gaps where a value is not finite.
func addCurve(p *plot.Plot, s *Series, c color.Color) error {
	for _, part := range finiteParts(s) {
		curve, dots, err := plotter.NewLinePoints(part)
		if err != nil {
			return millrace.Errorf(millrace.ErrInternal, "draw a curve: %w", err)
		}
		curve.LineStyle = draw.LineStyle{Color: c, Width: vg.Points(1.5)}
		p.Add(curve)
		if len(part) == 1 {
			dots.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(2), Shape: draw.CircleGlyph{}}
			p.Add(dots)
		}
	}
	return nil
}

// largest is the largest value that is drawn. The float32 of a loss is smaller, and a
// range up to this value does not overflow.
const largest = 1e100

// finiteParts returns the points of a series, cut where a value cannot be drawn.
func finiteParts(s *Series) []plotter.XYs {
	if s == nil {
		return nil
	}
	var parts []plotter.XYs
	open := false
	for _, p := range s.Points {
		if !(math.Abs(p.Value) <= largest) {
			open = false
			continue
		}
		if !open {
			parts, open = append(parts, nil), true
		}
		last := &parts[len(parts)-1]
		*last = append(*last, plotter.XY{X: float64(p.Step), Y: p.Value})
	}
	return parts
}

// svgSize matches the fixed size of an SVG element, which the page sets itself.
var svgSize = regexp.MustCompile(`<svg width="[^"]*" height="[^"]*"`)

// svg returns a plot as an SVG element for a page.
func svg(p *plot.Plot) (template.HTML, error) {
	canvas := vgsvg.New(chartWidth, chartHeight)
	p.Draw(draw.New(canvas))
	var text bytes.Buffer
	if _, err := canvas.WriteTo(&text); err != nil {
		return "", millrace.Errorf(millrace.ErrInternal, "draw a chart: %w", err)
	}
	element := text.Bytes()
	if i := bytes.Index(element, []byte("<svg")); i > 0 {
		element = element[i:]
	}
	return template.HTML(svgSize.ReplaceAll(element, []byte(`<svg class="chart"`))), nil
}
