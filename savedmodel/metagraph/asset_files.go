package metagraph

import (
	"google.golang.org/protobuf/encoding/protowire"

	"millrace/internal/base/wire"
	"millrace/savedmodel/message"
	"millrace/sigdef"
)

// assetsCollection is the collection to which TensorFlow 1 writes the assets.
// TensorFlow uses it for a graph that does not list assets elsewhere.
const assetsCollection = "saved_model_assets"

// Field numbers of CollectionDef, its AnyList and Any.
const (
	collectionAny = 5
	anyListValue  = 1
	anyValue      = 2
)

// Asset is an AssetFileDef: a file, and the tensor that is fed its path.
type Asset struct{ Filename, Tensor string }

// collectionAssets reads the assets in a collection. Their form has not been checked
// yet, because their field has type bytes.
func (p *Parser) collectionAssets(collection []byte) ([]Asset, error) {
	list, _ := message.Find(collection, collectionAny)
	var assets []Asset
	for f := range wire.Fields(list.Bytes) {
		if f.Num != anyListValue {
			continue
		}
		def, _ := message.Find(f.Bytes, protowire.Number(anyValue))
		var walk message.Checker
		if err := p.Damaged(walk.Whole(def.Bytes, message.AssetFileType())); err != nil {
			return nil, err
		}
		assets = append(assets, parseAsset(def.Bytes))
	}
	return assets, nil
}

// parseAsset reads an AssetFileDef.
func parseAsset(b []byte) Asset {
	var a Asset
	for f := range wire.Fields(b) {
		switch f.Num {
		case assetTensor:
			info, _ := sigdef.ParseTensor(f.Bytes)
			a.Tensor = info.Node
		case assetFilename:
			a.Filename = string(f.Bytes)
		}
	}
	return a
}
