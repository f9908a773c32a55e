package runtimedir

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"
)

//go:embed pins.json
var pinsJSON []byte

// Pins lists the accepted wheels of one version of TensorFlow.
type Pins struct {
	Version string  `json:"version"` // version of TensorFlow: "2.21.0"
	Python  string  `json:"python"`  // the Python version of the wheels: "311"; the libraries do not need Python
	Wheels  []Wheel `json:"wheels"`
}

// Wheel is one pinned file of the package index and the libraries in it.
type Wheel struct {
	Variant   string         `json:"variant"`
	GOARCH    string         `json:"goarch"`
	Package   string         `json:"package"` // name of the package for pip
	File      string         `json:"file"`
	Size      int64          `json:"size"`
	SHA256    string         `json:"sha256"`
	Libraries map[string]Pin `json:"libraries"` // key: the name in the wheel's RECORD
	Prelinked map[string]Pin `json:"prelinked"` // the libraries as prelinked by package prelink; nil: not tested
}

// Pin is the size and hash of a file.
type Pin struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Pinned returns the pins that are kept in pins.json.
var Pinned = sync.OnceValue(func() *Pins {
	p := new(Pins)
	if err := json.Unmarshal(pinsJSON, p); err != nil {
		panic(fmt.Sprintf("runtimedir: pins.json: %v", err)) // a test checks that the file is valid
	}
	return p
})

// Wheel returns the wheel for a variant and machine, nil if none is pinned.
func (p *Pins) Wheel(variant, goarch string) *Wheel {
	for i := range p.Wheels {
		if w := &p.Wheels[i]; w.Variant == variant && w.GOARCH == goarch {
			return w
		}
	}
	return nil
}

// BySHA256 returns the wheel with a hash, nil if none is pinned.
func (p *Pins) BySHA256(sum string) *Wheel {
	for i := range p.Wheels {
		if w := &p.Wheels[i]; w.SHA256 == sum {
			return w
		}
	}
	return nil
}

// ByLibraries returns the wheel whose libraries have these hashes, by name.
func (p *Pins) ByLibraries(sums map[string]string) *Wheel {
	for i := range p.Wheels {
		w := &p.Wheels[i]
		same := len(w.Libraries) == len(Libraries)
		for _, name := range Libraries {
			same = same && w.Libraries[name].SHA256 == sums[name]
		}
		if same {
			return w
		}
	}
	return nil
}

// ByFile returns the wheel of a file name, nil if none is pinned.
func (p *Pins) ByFile(name string) *Wheel {
	for i := range p.Wheels {
		if w := &p.Wheels[i]; w.File == name {
			return w
		}
	}
	return nil
}
