(** The noise as it is drawn: one number w of so many random bits, and how many entries of the table are not above it. So each
    set of margins has exactly the table's integer over 2^bits, also where most bits are drawn only if they are needed. *)

From Coq Require Import ZArith QArith List Lia Bool Setoid.
From Duotone Require Import Coin Bytes Margin.
Import ListNotations.
Open Scope Q_scope.

(** The level with its noise: what bisection in the sorted entries says of w. *)
Definition drawn_margin (lowest : Z) (entries : list Z) (l w : Z) : Z :=
  (l - lowest - Z.of_nat (leading (fun t => t <=? w)%Z entries))%Z.

Definition drawn_with (bits : nat) lowest entries l : sampler Z :=
  draw bits (fun w => outcome (drawn_margin lowest entries l w)).

(** What a part of the row says is drawn from the numbers from [before] on. *)
Lemma drawn_row bits before entries k S : (0 <= before)%Z -> forallb (Z.leb 0) (row (size bits) before entries) = true ->
  average bits (fun w => indicator (before <=? w)%Z * indicator (S (k - Z.of_nat (leading (fun t => t <=? w) entries))%Z)) ==
  inject_Z (heard (row (size bits) before entries) k S) / inject_Z (size bits).
Proof.
  pose proof (size_nonzero bits) as N. revert before k; induction entries as [| t entries IH]; intros before k B H.
  - apply rising_last in H.
    rewrite (average_ext bits _ (fun w => indicator (w <? before)%Z * (- indicator (S k)) + 0 * 0 + indicator (S k))).
    + rewrite (average_linear bits _ (fun _ => 0)), average_indicator by lia. cbn [row heard].
      destruct (S k); cbn [indicator]; unfold Z.sub; rewrite ?inject_Z_plus, ?inject_Z_opp; field; exact N.
    + intros w Hw. cbn [leading]. replace (k - Z.of_nat 0)%Z with k by lia.
      destruct (Z.leb_spec before w), (Z.ltb_spec w before); try lia; cbn [indicator]; ring.
  - apply rising_inv in H as [L H]. pose proof (rising_least _ _ _ 0%nat H) as U. specialize (IH t (k - 1)%Z ltac:(lia) H).
    set (rest w := indicator (t <=? w)%Z * indicator (S (k - 1 - Z.of_nat (leading (fun t => t <=? w) entries))%Z)) in *.
    rewrite (average_ext bits _ (fun w =>
      (indicator (w <? t)%Z * indicator (S k) + indicator (w <? before)%Z * (- indicator (S k)) + 0) * 1 + rest w * 1 + 0)).
    + rewrite average_linear, average_linear, !average_indicator, IH by lia. cbn [row heard]. rewrite inject_Z_plus.
      destruct (S k); cbn [indicator]; unfold Z.sub; rewrite ?inject_Z_plus, ?inject_Z_opp; field; exact N.
    + intros w Hw. unfold rest. cbn [leading]. destruct (Z.leb_spec t w), (Z.ltb_spec w t); try lia.
      * rewrite Nat2Z.inj_succ. replace (k - Z.succ (Z.of_nat (leading (fun t => (t <=? w)%Z) entries)))%Z
          with (k - 1 - Z.of_nat (leading (fun t => (t <=? w)%Z) entries))%Z by lia.
        destruct (Z.leb_spec before w), (Z.ltb_spec w before); try lia; cbn [indicator]; ring.
      * replace (k - Z.of_nat 0)%Z with k by lia.
        destruct (Z.leb_spec before w), (Z.ltb_spec w before); try lia; cbn [indicator]; ring.
Qed.

Theorem margin_drawn_exact bits lowest entries l S : rising (size bits) entries = true ->
  Coin.chance S (drawn_with bits lowest entries l) == inject_Z (margin (size bits) lowest entries l S) / inject_Z (size bits).
Proof.
  intros R. unfold drawn_with. cbn [Coin.chance]. rewrite <- (drawn_row bits 0 entries (l - lowest) S) by (lia || exact R).
  apply average_ext. intros w [W _]. unfold drawn_margin. rewrite (proj2 (Z.leb_le 0 w) W). cbn [indicator]. ring.
Qed.

(** ** `Coin.margins`: the other bits are drawn only where the first are those of an entry *)

Definition in_two_margin (first rest : nat) lowest entries l : sampler Z :=
  let top t := Z.shiftr t (Z.of_nat rest) in
  draw first (fun w =>
    if existsb (fun t => Z.eqb (top t) w) entries
    then draw rest (fun v => outcome (drawn_margin lowest entries l (Z.lor (Z.shiftl w (Z.of_nat rest)) v)))
    else outcome (drawn_margin lowest (map top entries) l w)).

(** Where no entry begins so, what comes next does not matter. *)
Lemma first_tells rest entries w v : (0 <= v < size rest)%Z -> existsb (fun t => (t / size rest =? w)%Z) entries = false ->
  leading (fun t => t <=? w * size rest + v)%Z entries = leading (fun t => t <=? w)%Z (map (fun t => t / size rest)%Z entries).
Proof.
  intros Hv. induction entries as [| t entries IH]; [reflexivity|]. cbn [existsb map leading]. intros E.
  apply orb_false_iff in E as [E F]. apply Z.eqb_neq in E. rewrite IH by exact F. pose proof (size_positive rest).
  pose proof (Z.div_mod t (size rest)). pose proof (Z.mod_pos_bound t (size rest)).
  assert (G : (t <=? w * size rest + v)%Z = (t / size rest <=? w)%Z) by (apply eq_true_iff_eq; rewrite !Z.leb_le; nia).
  rewrite G. reflexivity.
Qed.

Lemma existsb_shift rest entries w :
  existsb (fun t => (Z.shiftr t (Z.of_nat rest) =? w)%Z) entries = existsb (fun t => (t / size rest =? w)%Z) entries.
Proof. induction entries as [| t entries IH]; [reflexivity|]. cbn [existsb]. rewrite IH, shift_div. reflexivity. Qed.

Theorem in_two_margin_exact first rest lowest entries l S : rising (size (first + rest)) entries = true ->
  Coin.chance S (in_two_margin first rest lowest entries l) ==
  inject_Z (margin (size (first + rest)) lowest entries l S) / inject_Z (size (first + rest)).
Proof.
  intros R. rewrite <- margin_drawn_exact by exact R. unfold in_two_margin, drawn_with. cbn [Coin.chance].
  rewrite average_split. apply average_ext. intros w _.
  assert (M : map (fun t => Z.shiftr t (Z.of_nat rest)) entries = map (fun t => t / size rest)%Z entries) by
    (apply map_ext; intros t; apply shift_div).
  rewrite M, existsb_shift. destruct (existsb _ entries) eqn:E.
  - cbn [Coin.chance]. apply average_ext. intros v Hv. rewrite joined by exact Hv. reflexivity.
  - cbn [Coin.chance]. rewrite <- (average_constant rest (indicator _)). apply average_ext. intros v Hv.
    unfold drawn_margin. rewrite first_tells by assumption. reflexivity.
Qed.

(** In bytes: eight, and the others. *)
Definition margin_bytes (rest : nat) lowest entries l : sampler Z :=
  let top t := Z.shiftr t (Z.of_nat (8 * rest)) in
  bytes 8 (fun w =>
    if existsb (fun t => Z.eqb (top t) w) entries
    then bytes rest (fun v => outcome (drawn_margin lowest entries l (Z.lor (Z.shiftl w (Z.of_nat (8 * rest))) v)))
    else outcome (drawn_margin lowest (map top entries) l w)).

Corollary margin_bytes_exact rest lowest entries l S : let bits := (64 + 8 * rest)%nat in rising (size bits) entries = true ->
  Coin.chance S (margin_bytes rest lowest entries l) ==
  inject_Z (margin (size bits) lowest entries l S) / inject_Z (size bits).
Proof.
  intros bits R. unfold bits in *. rewrite <- in_two_margin_exact by exact R. unfold margin_bytes, in_two_margin.
  rewrite bytes_uniform. change (8 * 8)%nat with 64%nat. apply chance_draw. intros w _.
  destruct (existsb _ entries); [apply bytes_uniform | reflexivity].
Qed.
