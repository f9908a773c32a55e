package convert

// shortInt parses an integer of at most 18 digits like strconv.ParseInt. It returns
// false for any other text.
func shortInt(text []byte) (x int64, ok bool) {
	digits := text
	if len(digits) > 0 && (digits[0] == '-' || digits[0] == '+') {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > 18 {
		return 0, false
	}
	for _, d := range digits {
		if d -= '0'; d > 9 {
			return 0, false
		} else {
			x = 10*x + int64(d)
		}
	}
	if text[0] == '-' {
		x = -x
	}
	return x, true
}

// powers are the powers of ten for the digits of a short float, all exact in a float64.
var powers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// shortFloat parses a number of at most 15 digits with a decimal point like
// strconv.ParseFloat. It returns false for any other text. The digits and the power of
// ten are exact, so their quotient is rounded once.
func shortFloat(text []byte) (x float64, ok bool) {
	whole, i, sign := uint64(0), 0, 0
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		i, sign = 1, 1
	}
	if n := len(text) - i; n < 2 || n > 16 {
		return 0, false
	}
	for i < len(text) && text[i]-'0' <= 9 {
		whole = 10*whole + uint64(text[i]-'0')
		i++
	}
	if i == len(text) || text[i] != '.' {
		return 0, false
	}
	fraction := text[i+1:]
	for _, d := range fraction {
		if d -= '0'; d > 9 {
			return 0, false
		} else {
			whole = 10*whole + uint64(d)
		}
	}
	x = float64(int64(whole)) / powers[len(fraction)&15]
	if sign > 0 && text[0] == '-' {
		x = -x
	}
	return x, true
}

// isShortFloat reports whether shortFloat accepts a text.
func isShortFloat(text []byte) bool {
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		text = text[1:]
	}
	if len(text) < 2 || len(text) > 16 {
		return false
	}
	points := 0
	for _, d := range text {
		if d == '.' {
			points++
		} else if d-'0' > 9 {
			return false
		}
	}
	return points == 1
}
