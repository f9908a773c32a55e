package doctor

import "millrace/sandbox"

// sandbox checks how far the kernel can confine commands.
func (e *examination) sandbox() {
	p := sandbox.Available()
	if p.Whole() {
		e.add("sandbox", OK, "", "%s", p)
		return
	}
	e.add("sandbox", Warn, "docs/sandbox.md says which kernels and containers confine more; commands with --sandbox=require refuse to run here", "%s", p)
}
