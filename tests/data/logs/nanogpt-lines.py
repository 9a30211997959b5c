# second run
out_dir = 'out-small'
eval_interval = 250
always_save_checkpoint = False

batch_size = 16
block_size = 1024
gradient_accumulation_steps = 4 * 8  # 524,288 tokens per iteration

n_layer = 12
n_head = 12
n_embd = 384
dropout = 0.0
dtype = 'bfloat16'
compile = True
