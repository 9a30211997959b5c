export MODEL_NAME="black-forest-labs/FLUX.1-dev"

accelerate launch train_dreambooth_lora_flux.py \
  --pretrained_model_name_or_path=$MODEL_NAME \
  --instance_data_dir=dog --output_dir=out \
  --instance_prompt="a photo of sks dog" \
  --mixed_precision="bf16" \
  --resolution=512 \
  --train_batch_size=2 \
  --rank=16 \
  --lora_layers="attn.to_k,attn.to_q,attn.to_v,attn.to_out.0" \
  --use_8bit_adam \
  --gradient_checkpointing \
  --gradient_accumulation_steps=4 \
  --learning_rate=1. --max_train_steps=500 --seed="0"
