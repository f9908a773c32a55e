//go:build cgo

package tfbridge

import (
	"net/url"
	"strconv"
	"strings"

	"millrace"
)

// A failure of our own dataset operations carries its location as data: the message
// ends with the text that cgo/datasets/status.h describes. TensorFlow adds to the
// message on the way, but removes nothing. A payload of the status would be the obvious
// carrier, but does not survive the functions of a Map.
const (
	faultBegin = " [millrace.fault "
	faultEnd   = "]"
)

// cutFault removes the data of a fault from a message and returns it, "" if there is
// none.
func cutFault(msg string) (query, rest string) {
	begin := strings.LastIndex(msg, faultBegin)
	if begin < 0 {
		return "", msg
	}
	query, behind, ok := strings.Cut(msg[begin+len(faultBegin):], faultEnd)
	if !ok {
		return "", msg
	}
	return query, msg[:begin] + behind
}

// checkBegin begins the mark of one of our own checks in a graph. TensorFlow's Assert
// writes its data into the message, each value in brackets:
//
//	[millrace.check 3] [5] [7]
const checkBegin = "[millrace.check "

// CheckMark returns the first element of an Assert's data. With it [Error.Check] finds
// the number of the check, and the integers that follow the mark in the data.
func CheckMark(number int) string {
	return strings.TrimPrefix(checkBegin, "[") + strconv.Itoa(number)
}

// Check returns the number and the integers of the check that failed; see [CheckMark].
// It reports false for other errors.
func (e *Error) Check() (number int, values []int64, ok bool) {
	_, rest, _ := strings.Cut(e.Msg, checkBegin)
	digits, rest, ok := strings.Cut(rest, "]")
	number, err := strconv.Atoi(digits)
	if !ok || err != nil || number < 0 {
		return 0, nil, false
	}
	for {
		after, more := strings.CutPrefix(rest, " [")
		digits, after, ok := strings.Cut(after, "]")
		value, err := strconv.ParseInt(digits, 10, 64)
		if !more || !ok || err != nil {
			return number, values, true
		}
		values, rest = append(values, value), after
	}
}

// placed returns the error that the data of a fault describes, nil if the data is
// invalid.
func placed(query string, cause *Error) *millrace.Error {
	if query == "" {
		return nil
	}
	parts, err := url.ParseQuery(query)
	if err != nil {
		return nil
	}
	number := func(key string) int64 {
		n, err := strconv.ParseInt(parts.Get(key), 10, 64)
		if err != nil {
			return -1
		}
		return n
	}
	return &millrace.Error{
		Class:   millrace.Class(parts.Get("class")),
		Op:      "read",
		File:    ownName(parts.Get("file")),
		Record:  number("record"),
		Offset:  number("offset"),
		Feature: parts.Get("feature"),
		Msg:     parts.Get("what"),
		Code:    int(cause.Code),
		Err:     cause,
	}
}
