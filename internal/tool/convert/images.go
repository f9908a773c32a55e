package convert

import (
	"image"
	_ "image/gif" // decoders of the headers
	_ "image/jpeg"
	_ "image/png"

	"millrace/loaders/spec"
)

// imageFormat is the format of images. Each becomes a row: the file's bytes, and its
// class.
var imageFormat = (&fileKind{
	name: "images", extensions: []string{".jpg", ".jpeg", ".png", ".gif"},
	survey: surveyImage, open: openImage,
}).format()

// imageBytes is the column of an image's content.
const imageBytes = "image"

// surveyImage reads the header of an image.
func surveyImage(path string) ([]Column, error) {
	f, size, err := openInput(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := checkRecord(size); err != nil {
		return nil, dataError(path, "%w", err)
	}
	if _, _, err := image.DecodeConfig(f); err != nil {
		return nil, damaged(path, "an image", err)
	}
	return []Column{scalar(imageBytes, spec.String, "string")}, nil
}

func openImage(path string) (content, error) {
	bytes, err := readInput(path, maxRecord)
	if err != nil {
		return content{}, err
	}
	return content{int64(len(bytes)), func(v *values, c *Column) error {
		if c.Name != imageBytes {
			v.missing = true
			return nil
		}
		v.texts = append(v.texts, bytes)
		return nil
	}}, nil
}
