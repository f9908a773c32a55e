package tfbridge

import (
	"net/url"
	"strconv"
	"strings"

	"millrace"
)

// A failure of our own dataset operations says its place as data: the message
// ends with what cgo/datasets/status.h describes, and TensorFlow adds to the
// message on the way, but takes nothing away. A payload of the status would be
// the obvious carrier, but does not pass the functions of a Map.
const (
	faultBegin = " [millrace.fault "
	faultEnd   = "]"
)

// cutFault takes the data of a fault out of a message, "" if there is none.
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

// placed returns the error that the data of a fault describes, nil if it is
// none.
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
		File:    parts.Get("file"),
		Record:  number("record"),
		Offset:  number("offset"),
		Feature: parts.Get("feature"),
		Msg:     parts.Get("what"),
		Code:    int(cause.Code),
		Err:     cause,
	}
}
