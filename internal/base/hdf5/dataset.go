package hdf5

import (
	"encoding/binary"
	"fmt"
	"math"
)

// dataset reads the description of an array. An array of an unsupported kind is listed
// with the reason.
func (p *parser) dataset(name string, of map[uint16][]byte) error {
	d := Dataset{Name: name}
	count, err := d.dataspace(of[messageDataspace])
	if err != nil {
		return fmt.Errorf("damaged: array %q: %w", name, err)
	}
	size := d.datatype(of[messageDatatype])
	if of[messageFilters] != nil && d.Type != "" {
		d.Type, d.Reason = "", "it is compressed, or has a checksum"
	}
	if d.Type != "" {
		if count > p.size/size { // the elements are in the file, so this refuses every size beyond it
			return fmt.Errorf("damaged: array %q of shape %v would be larger than the file", name, d.Shape)
		}
		d.bytes = count * size
		if err := p.layout(&d, of[messageLayout]); err != nil {
			return fmt.Errorf("damaged: array %q: %w", name, err)
		}
	}
	p.file.Datasets = append(p.file.Datasets, d)
	return nil
}

// dataspace reads the shape and returns the number of elements.
func (d *Dataset) dataspace(b []byte) (int64, error) {
	if len(b) < 8 && !(len(b) >= 4 && b[0] == 2) {
		return 0, fmt.Errorf("it has no shape")
	}
	at := map[byte]int{1: 8, 2: 4}[b[0]]
	rank := int(b[1])
	if at == 0 || rank > maxRank || len(b) < at+8*rank {
		return 0, fmt.Errorf("its shape cannot be read")
	}
	count := int64(1)
	d.Shape = []int64{}
	for i := range rank {
		n := binary.LittleEndian.Uint64(b[at+8*i:])
		if n > math.MaxInt32 && n > 0 {
			return 0, fmt.Errorf("a dimension of %d elements", n)
		}
		d.Shape = append(d.Shape, int64(n))
		if n != 0 && count > math.MaxInt64/int64(n) {
			return 0, fmt.Errorf("its shape %v has too many elements", d.Shape)
		}
		count *= int64(n)
	}
	return count, nil
}

// datatype reads the type of the elements and returns their size.
func (d *Dataset) datatype(b []byte) int64 {
	if len(b) < 8 {
		d.Reason = "it has no type"
		return 0
	}
	class, size := b[0]&0x0f, int64(binary.LittleEndian.Uint32(b[4:]))
	little := b[1]&1 == 0
	switch {
	case class == 0 && little && b[1]&8 != 0:
		d.Type = map[int64]Type{1: Int8, 2: Int16, 4: Int32, 8: Int64}[size]
	case class == 0 && little && size == 1:
		d.Type = Uint8
	case class == 1 && little && b[1]&0x40 == 0 && len(b) >= 20:
		exponent, mantissa := b[13], b[15]
		switch {
		case size == 2 && exponent == 5 && mantissa == 10:
			d.Type = Float16
		case size == 2 && exponent == 8 && mantissa == 7:
			d.Type = BFloat16
		case size == 4 && exponent == 8 && mantissa == 23:
			d.Type = Float32
		case size == 8 && exponent == 11 && mantissa == 52:
			d.Type = Float64
		}
	}
	if d.Type == "" {
		d.Reason = fmt.Sprintf("its elements have %d bytes and are of HDF5's class %d; floats and integers of little endian order can be read", size, class)
		return 0
	}
	return size
}

// layout reads the location of the elements.
func (p *parser) layout(d *Dataset, b []byte) error {
	if len(b) < 4 || b[0] != 3 && b[0] != 4 {
		d.Type, d.Reason = "", "its layout is of an old version"
		return nil
	}
	switch b[1] {
	case 0:
		n := int64(binary.LittleEndian.Uint16(b[2:]))
		if n > int64(len(b)-4) || n < d.bytes {
			return fmt.Errorf("it has %d bytes, and its shape needs %d", n, d.bytes)
		}
		d.inline = append([]byte{}, b[4:4+d.bytes]...)
		return nil
	case 1:
		if len(b) < 18 {
			return fmt.Errorf("its layout is too short")
		}
		if d.at = p.address(b[2:]); d.bytes == 0 {
			return nil
		}
		n := binary.LittleEndian.Uint64(b[10:])
		if d.at < 0 || n < uint64(d.bytes) || d.at > p.size-d.bytes {
			return fmt.Errorf("its %d bytes are not in the file", d.bytes)
		}
		return nil
	}
	d.Type, d.Reason = "", "it is stored in chunks"
	return nil
}
