"""Records what Python tf.data gives, for parity_test.go.

    python dataset.py dataset.json
"""
import tensorflow as tf, json, os, sys, tempfile, gzip
D=tf.data.Dataset
out={}
def plain(x):
    if isinstance(x, tf.SparseTensor): return {"indices":x.indices.numpy().tolist(),"values":plain(x.values),"shape":x.dense_shape.numpy().tolist()}
    if isinstance(x, tf.RaggedTensor): return plain(x.to_list())
    if isinstance(x, tf.Tensor): return plain(x.numpy().tolist()) if x.shape.rank or x.dtype!=tf.string else x.numpy().decode()
    if isinstance(x, bytes): return x.decode()
    if isinstance(x, dict): return {k:plain(v) for k,v in sorted(x.items())}
    if isinstance(x,(list,tuple)): return [plain(v) for v in x]
    return x
def rec(name, ds): out[name]=[plain(e) for e in ds]
R=lambda *a: D.range(*a)
rec("shuffle", R(10).shuffle(4, seed=3))
rec("random", D.random(seed=5).take(4))
rec("sample", D.sample_from_datasets([R(0,8),R(100,108),R(200,208)], weights=[0.5,0.3,0.2], seed=7))
rec("sample_uniform_stop", D.sample_from_datasets([R(0,3),R(100,108)], seed=9, stop_on_empty_dataset=True))
rec("choose", D.choose_from_datasets([R(0,3),R(10,13),R(20,23)], D.from_tensor_slices(tf.constant([2,0,1,1,2,0,0,0,2,1],tf.int64))))
rec("choose_skip", D.choose_from_datasets([R(0,3),R(10,13),R(20,23)], D.from_tensor_slices(tf.constant([2,0,1,1,2,0,0,0,2,1],tf.int64)), stop_on_empty_dataset=False))
var=lambda n: R(1,n).map(lambda i: tf.fill([i], i))
rec("ragged_batch", var(6).ragged_batch(2))
rec("ragged_batch_rank2", R(1,4).map(lambda i: tf.fill([i, 2, i+1], i)).ragged_batch(2))
rec("ragged_batch_twice", var(6).ragged_batch(2).batch(2))
rec("sparse_batch", var(6).sparse_batch(2,[6]))
rec("sparse_batch_rebatched", var(6).sparse_batch(2,[6]).unbatch().batch(3))
sp=lambda i: tf.SparseTensor(indices=[[i%3]],values=[i],dense_shape=[4])
rec("sparse_batched_batched", R(6).map(sp).batch(2).batch(2))
rec("sparse_slices", D.from_tensor_slices(tf.sparse.from_dense([[1,0,2],[0,0,0],[0,3,0]])))
rec("ragged_slices", D.from_tensor_slices(tf.ragged.constant([[[1],[2,3]],[],[[4,5,6],[],[7]]])))
rec("ragged_slices_batched", D.from_tensor_slices(tf.ragged.constant([[[1],[2,3]],[],[[4,5,6],[],[7]]])).batch(2))
rec("bucket", var(14).bucket_by_sequence_length(lambda x: tf.shape(x)[0],[3,6],[2,3,4]))
rec("bucket_boundary", var(6).bucket_by_sequence_length(lambda x: tf.shape(x)[0],[3,7],[2,2,4],pad_to_bucket_boundary=True))
rec("bucket_drop", var(14).bucket_by_sequence_length(lambda x: tf.shape(x)[0],[3,6],[2,3,4],drop_remainder=True))
rec("group_by_reducer", R(10).apply(tf.data.experimental.group_by_reducer(lambda x: x%3, tf.data.experimental.Reducer(lambda k: tf.constant(0,tf.int64), lambda s,x: s+x, lambda s: s))))
rec("unique", D.from_tensor_slices([3,1,3,2,1,5]).unique())
rec("rebatch", R(7).batch(3).rebatch(2))
rec("window", R(7).window(3,shift=2,stride=1,drop_remainder=False).flat_map(lambda w: w.batch(3)))
rec("window_pairs", D.zip((R(5),R(10,15))).window(2).flat_map(lambda a,b: D.zip((a.batch(2),b.batch(2)))))
rec("enumerate_nested", D.from_tensor_slices({"b":[1,2],"a":["x","y"]}).enumerate(5))
rec("scan", R(5).scan(tf.constant(0,tf.int64), lambda s,x: (s+x, s*x)))
rec("shard", R(10).shard(3,1))
rec("interleave", R(4).interleave(lambda i: R(i*10,i*10+3), cycle_length=2, block_length=2))
rec("padded", R(1,5).map(lambda i: {"v":tf.fill([i],i),"n":i}).padded_batch(2, padding_values={"v":tf.constant(-1,tf.int64),"n":tf.constant(0,tf.int64)}))
t=tempfile.mkdtemp()
open(t+"/a.csv","w").write('id,name,x\n1,"a,b",2.5\n2,,NA\n,c,1e3\n')
rec("csv", tf.data.experimental.CsvDataset(t+"/a.csv",[tf.constant([-1],tf.int64),tf.constant(["none"]),tf.constant([0.5],tf.float64)],header=True,na_value="NA"))
rec("csv_select", tf.data.experimental.CsvDataset(t+"/a.csv",[tf.constant([-1],tf.int64),tf.constant([0.5],tf.float64)],header=True,na_value="NA",select_cols=[0,2]))
json.dump(out,open(sys.argv[1],"w"),indent=None,separators=(",",":"),sort_keys=True)
