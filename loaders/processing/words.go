package processing

import "millrace/graph/dataset/native"

/*
Texts of a batch at once

The question: splitting a text makes a string of each word, and looking it up hashes it and compares
it with strings elsewhere in memory. That is three quarters of the time of a batch of texts.

The answer: one operation of ours splits the texts of a batch and looks the words up where they
stand. As with images, the steps that it can carry out add themselves to its description, one after
another. Where one of them cannot, all steps are built of TensorFlow's operations, with the same
values.
*/

// Words describes what the operation does.
type Words struct {
	native.Words
	Split bool     // texts are split
	List  []string // the vocabulary; nil: words are not looked up yet
}

// WordStep is a step that the operation for all texts of a batch may carry out.
type WordStep interface {
	Step

	// AddToWords adds the step to what the operation does after the steps before. It returns
	// false, and changes nothing, if the operation cannot carry it out there.
	AddToWords(w *Words) bool
}

// InWords is the part of a step that is a [WordStep]: a function, nil if it is not one.
type InWords func(w *Words) bool

// AddToWords calls the function.
func (f InWords) AddToWords(w *Words) bool { return f != nil && f(w) }
