package farmhash

import "testing"

// TensorFlow's op Fingerprint gave these for byte(i*7+n), i below n.
func TestFingerprint64(t *testing.T) {
	tests := []struct {
		n    int
		want uint64
	}{
		{0, 0x9ae16a3b2f90404f}, {1, 0x47a24c13b17e583e}, {2, 0xf0c23b32303a63c2}, {3, 0x40b4412e33eefd64},
		{4, 0xc107ef4cfd78de68}, {5, 0x84ecb798b403d75c}, {7, 0xef296bc3f2781108}, {8, 0xaf3c2feaecfb8228},
		{9, 0xdc844b50ea30fa56}, {15, 0x319e0df4926db491}, {16, 0x8935c33c50c919d8}, {17, 0xeb5e445e8ed8468f},
		{24, 0x5a2808eca044a527}, {31, 0xa6e1af36b767e2f2}, {32, 0x37679234ee53fb79}, {33, 0xace067ceef8b7acd},
		{48, 0x5aab4dbfabd61f8e}, {63, 0xd0b2a6646c271569}, {64, 0x99cef40b2c6f98ec}, {65, 0x62c410b763bef3d},
		{100, 0x97ff1cb776a457af}, {127, 0x523ebfd89d1c476c}, {128, 0xdbceebb7b5db6dc9}, {129, 0x4651ad82f97e3ac7},
		{192, 0x21fcdfc4e74ef3a2}, {193, 0xc00468f778b34a7a}, {1000, 0xc3d452cfc7712240},
	}
	for _, tt := range tests {
		b := make([]byte, tt.n)
		for i := range b {
			b[i] = byte(i*7 + tt.n)
		}
		if got := Fingerprint64(b); got != tt.want {
			t.Errorf("Fingerprint64 of %d bytes\n got %#x\nwant %#x", tt.n, got, tt.want)
		}
	}
}
