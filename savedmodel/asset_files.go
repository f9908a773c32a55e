package savedmodel

import (
	"google.golang.org/protobuf/encoding/protowire"

	"millrace/savedmodel/sigdef"
)

// assetsCollection is where TensorFlow 1 writes the assets. TensorFlow looks
// there for a graph that lists none elsewhere.
const assetsCollection = "saved_model_assets"

// Field numbers of CollectionDef, its AnyList and Any.
const (
	collectionAny = 5
	anyListValue  = 1
	anyValue      = 2
)

// assetDef is an AssetFileDef: a file, and the tensor that is fed its path.
type assetDef struct{ filename, tensor string }

// collectionAssets reads the assets in a collection. Their form has not been
// checked yet: to a walk over the types of fields they are bytes.
func (p *parser) collectionAssets(collection []byte) ([]assetDef, error) {
	list, _ := attrField(collection, collectionAny)
	var assets []assetDef
	for f := range fieldsOf(list.bytes) {
		if f.num != anyListValue {
			continue
		}
		def, _ := attrField(f.bytes, protowire.Number(anyValue))
		var walk wireCheck
		if err := p.wireError(walk.whole(def.bytes, assetFileType())); err != nil {
			return nil, err
		}
		assets = append(assets, parseAsset(def.bytes))
	}
	return assets, nil
}

// parseAsset reads an AssetFileDef.
func parseAsset(b []byte) assetDef {
	var a assetDef
	for f := range fieldsOf(b) {
		switch f.num {
		case assetTensor:
			info, _ := sigdef.ParseTensor(f.bytes)
			a.tensor = info.Node
		case assetFilename:
			a.filename = string(f.bytes)
		}
	}
	return a
}
