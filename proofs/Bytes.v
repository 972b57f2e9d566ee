(** Bytes as they are drawn: a number that is read from n random bytes, the least significant first, is as good as one of 8 n
    random bits. So the coins of the code, which draw bytes and stop early, say yes with exactly t / 2^bits. *)

From Coq Require Import ZArith QArith List Lia Bool Setoid.
From Duotone Require Import Coin.
Open Scope Q_scope.

(** One byte after the other, and then on with the number: `int.from_bytes(draw(n), "little")`. *)
Fixpoint bytes {A} n (go_on : Z -> sampler A) : sampler A :=
  match n with O => go_on 0%Z | S n => draw 8 (fun b => bytes n (fun w => go_on (b + 256 * w)%Z)) end.

Lemma sum_swap i j (f : Z -> Z -> Q) : sum i (fun w => sum j (fun v => f w v)) == sum j (fun v => sum i (fun w => f w v)).
Proof.
  induction i; cbn [sum].
  - induction j; cbn [sum]; [reflexivity|]. rewrite <- IHj. ring.
  - rewrite IHi. pose proof (sum_linear j (fun v => sum i (fun w => f w v)) (fun v => f (Z.of_nat i) v) 1 1 0) as L.
    transitivity (sum j (fun v => sum i (fun w => f w v) * 1 + f (Z.of_nat i) v * 1 + 0)); [rewrite L; ring|].
    apply sum_ext; intros; ring.
Qed.

(** Averages over two independent draws can be taken in any order. *)
Lemma average_swap a b (f : Z -> Z -> Q) :
  average a (fun w => average b (fun v => f w v)) == average b (fun v => average a (fun w => f w v)).
Proof.
  assert (E : forall a b g, average a (fun w => average b (g w)) ==
    sum (Z.to_nat (size a)) (fun w => sum (Z.to_nat (size b)) (g w)) / (inject_Z (size a) * inject_Z (size b))).
  { intros a' b' g. unfold average. pose proof (size_nonzero a'). pose proof (size_nonzero b').
    transitivity (sum (Z.to_nat (size a')) (fun w => sum (Z.to_nat (size b')) (g w) * / inject_Z (size b') + 0 * 0 + 0)
      / inject_Z (size a')).
    - unfold Qdiv. rewrite (sum_ext _ _ (fun w => sum (Z.to_nat (size b')) (g w) * / inject_Z (size b') + 0 * 0 + 0));
        [reflexivity|]. intros; unfold Qdiv; ring.
    - rewrite (sum_linear _ _ (fun _ => 0)). field. split; assumption. }
  rewrite !E, sum_swap. pose proof (size_nonzero a). pose proof (size_nonzero b). field. split; assumption.
Qed.

Lemma chance_draw {A} (S : A -> bool) b s s' : (forall w, (0 <= w < size b)%Z -> chance S (s w) == chance S (s' w)) ->
  chance S (draw b s) == chance S (draw b s').
Proof. apply average_ext. Qed.

Theorem bytes_uniform {A} (S : A -> bool) n : forall s, chance S (bytes n s) == chance S (draw (8 * n) s).
Proof.
  induction n as [| n IH]; intros s.
  - change (chance S (s 0%Z) == average 0 (fun w => chance S (s w))). unfold average, size.
    change (chance S (s 0%Z) == (0 + chance S (s 0%Z)) / 1). field.
  - cbn [bytes]. transitivity (average 8 (fun b => average (8 * n) (fun w => chance S (s (b + 256 * w)%Z)))).
    { apply average_ext. intros b _. apply IH. }
    rewrite average_swap. replace (8 * Datatypes.S n)%nat with (8 * n + 8)%nat by lia.
    change (chance S (draw (8 * n + 8) s)) with (average (8 * n + 8) (fun w => chance S (s w))). rewrite average_split.
    apply average_ext; intros w _. apply average_ext; intros v _.
    replace (w * size 8 + v)%Z with (v + 256 * w)%Z by (unfold size; lia). reflexivity.
Qed.

(** `Coin.answer`: eight bytes, and the others only where these are the threshold's own. *)
Definition answer_bytes rest t : sampler bool :=
  let word := Z.shiftr t (Z.of_nat (8 * rest)) in
  bytes 8 (fun w => if (w =? word)%Z then bytes rest (fun v => outcome (v <? low t (8 * rest))%Z) else outcome (w <? word)%Z).

Theorem answer_bytes_exact rest t : (0 <= t <= size (64 + 8 * rest))%Z ->
  yes (answer_bytes rest t) == inject_Z t / inject_Z (size (64 + 8 * rest)).
Proof.
  intros H. rewrite <- (answer_exact (64 + 8 * rest) t) by (lia || assumption). unfold yes, answer_bytes, answer, in_two.
  replace (64 + 8 * rest - 64)%nat with (8 * rest)%nat by lia. rewrite bytes_uniform. apply chance_draw. intros w _.
  destruct (w =? _)%Z; [apply bytes_uniform | reflexivity].
Qed.

(** `Coin.answers`: one byte, then eight, then the others. *)
Definition answers_bytes rest t : sampler bool :=
  let top := Z.shiftr t (Z.of_nat (64 + 8 * rest)) in
  let next := low (Z.shiftr t (Z.of_nat (8 * rest))) 64 in
  bytes 1 (fun byte =>
    if (byte =? top)%Z then
      bytes 8 (fun w => if (w =? next)%Z then bytes rest (fun v => outcome (v <? low t (8 * rest))%Z)
                        else outcome (w <? next)%Z)
    else outcome (byte <? top)%Z).

Theorem answers_bytes_exact rest t : (0 <= t <= size (72 + 8 * rest))%Z ->
  yes (answers_bytes rest t) == inject_Z t / inject_Z (size (72 + 8 * rest)).
Proof.
  intros H. rewrite <- (answers_exact (72 + 8 * rest) t) by (lia || assumption). unfold yes, answers_bytes, answers, in_three.
  replace (72 + 8 * rest - 72)%nat with (8 * rest)%nat by lia. rewrite bytes_uniform. apply chance_draw. intros byte _.
  destruct (byte =? _)%Z; [|reflexivity]. rewrite bytes_uniform. apply chance_draw. intros w _.
  destruct (w =? _)%Z; [apply bytes_uniform | reflexivity].
Qed.
